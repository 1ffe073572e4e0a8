import { createRequire } from 'node:module'
import { AwError } from '../../domain/errors.ts'

/**
 * How the proxy of a box is started: append the path of its settings (see `settingsText`), and give it the listening
 * socket as descriptor 3 and the log as 4. From a checkout it is the source itself, from the package a file of its own.
 */
export const proxyCommand = (): string[] => [process.execPath, `--max-old-space-size=${heapMb}`, programFile()]

/** Buffers are not in it; it bounds what a flood of requests can take. */
const heapMb = 128

function programFile(): string {
  const { resolve } = createRequire(import.meta.url)
  for (const place of ['./main.ts', './proxy.cjs', '../proxy.cjs']) {
    try {
      return resolve(place)
    } catch {
      // The next place.
    }
  }
  throw new AwError('internal', 'The program of the proxy is missing', { hint: 'Install aw again' })
}
