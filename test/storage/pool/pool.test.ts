import { expect, it } from 'vitest'
import { runOnImage } from '../on-image.ts'

const seed = process.env['AW_SEED'] ?? `${Math.floor(Math.random() * 1000)}`
console.log(`AW_SEED=${seed}`)

/** The pools are in images on an ext4 that is itself one, in a mount namespace that goes with the tests. */
it.each([
  ['does what is asked of it', 'test/storage/pool/pool.inside.ts', 21],
  ['survives crashes', 'test/storage/pool/crash.inside.ts', 3],
])('a pool %s', { timeout: 900_000 }, (_, file, least) => {
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as: 'root', files: [file], env: { AW_SEED: seed } })
  expect(failures).toEqual([])
  expect(passed).toBeGreaterThanOrEqual(least)
})
