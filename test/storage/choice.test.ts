import { expect, it } from 'vitest'
import { drawn } from '../support/random-selection.ts'
import { runOnImage } from './on-image.ts'

const homes = [
  ['ext4', 'root'],
  ['ext4', 'an ordinary user'],
  ['btrfs', 'root'],
  ['btrfs', 'an ordinary user'],
] as const

it.each(drawn(homes, () => 'any'))(
  'a home on %s, of %s, chooses how it keeps its trees',
  { timeout: 900_000 },
  (fileSystem, as) => {
    const files = ['test/storage/pool/choice.inside.ts']
    const { passed, failures } = runOnImage({ fileSystem, as, files, env: { AW_ON: fileSystem } })
    expect(failures).toEqual([])
    expect(passed).toBeGreaterThanOrEqual(12)
  },
)
