import { expect, it } from 'vitest'
import { runOnImage } from './storage/on-image.ts'

const isRoot = process.getuid?.() === 0

/** Only root can mount an image; an ordinary user's overlay is tried by root, who can become one. */
const users = isRoot ? (['root', 'an ordinary user'] as const) : ([] as const)

it.each(users)(
  'overlay beyond the contract, as %s',
  (as) => {
    const file = as === 'root' ? 'test/overlay-mounts.inside.ts' : 'test/overlay-sandbox.inside.ts'
    const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files: [file] })
    expect(failures).toEqual([])
    expect(passed).toBeGreaterThan(as === 'root' ? 18 : 1)
  },
  300_000,
)

it('is tried wherever it can be', () => {
  expect(users).toHaveLength(isRoot ? 2 : 0)
})
