import { createRequire } from 'node:module'

export type Koffi = Pick<typeof import('koffi'), 'load' | 'errno'>

/**
 * Loads the optional package; throws where it is missing. Its own start takes 10 ms to find out which of its binaries is
 * the right one; the one that is for most machines takes 2, and does not load where it is wrong.
 */
export function loadKoffi(arch: 'x64' | 'arm64'): Koffi {
  const here = createRequire(import.meta.url)
  const beside = createRequire(here.resolve('koffi'))
  try {
    return beside(`@koromix/koffi-linux-${arch}/linux_${arch}/koffi.node`) as Koffi
  } catch {
    return here('koffi') as Koffi
  }
}
