import { expect, it } from 'vitest'
import { drawn } from '../../support/random-selection.ts'
import { runOnImage } from '../on-image.ts'

/** Only root can mount an image; an ordinary user is tried by root, who can become one. */
const isRoot = process.getuid?.() === 0
const places = [
  { fileSystem: 'ext4', as: 'root' },
  { fileSystem: 'ext4', as: 'an ordinary user' },
  { fileSystem: 'btrfs', as: 'root' },
  { fileSystem: 'btrfs', as: 'an ordinary user' },
] as const

const each = isRoot ? drawn(places, ({ fileSystem }) => fileSystem) : []

it.each(each)(
  'size limits on $fileSystem as $as',
  (place) => {
    const { passed, failures } = runOnImage({
      ...place,
      files: ['test/storage/space/limits.inside.ts', 'test/storage/space/usage.inside.ts'],
    })
    expect(failures).toEqual([])
    expect(passed).toBe(7)
  },
  300_000,
)

it.each(each)(
  'a full disk of $fileSystem as $as',
  (place) => {
    const { passed, failures } = runOnImage({ ...place, files: ['test/storage/space/full.inside.ts'], size: '300M' })
    expect(failures).toEqual([])
    expect(passed).toBe(2)
  },
  300_000,
)

it('is tried wherever it can be', () => {
  expect(each.length).toBeGreaterThanOrEqual(isRoot ? 2 : 0)
})
