import { expect, it } from 'vitest'
import { runOnImage } from './storage/on-image.ts'

/** The pools are in images on an ext4 that is itself one, in a mount namespace that goes with the tests. */
it.each([
  ['does what is asked of it', 'test/pool/pool.inside.ts', 21],
  ['survives a crash at every step', 'test/pool/crash.inside.ts', 3],
])('a pool %s', { timeout: 900_000 }, (_, file, least) => {
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as: 'root', files: [file] })
  expect(failures).toEqual([])
  expect(passed).toBeGreaterThanOrEqual(least)
})
