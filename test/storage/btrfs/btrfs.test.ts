import { expect, it } from 'vitest'
import { runOnImage } from '../on-image.ts'

/** What is special to btrfs; the contract of all drivers is in test/storage. */

const forAll = ['restore', 'nested', 'yielding'].map((name) => `test/storage/btrfs/${name}.inside.ts`)
const forRoot = ['diff', 'growth', 'quota'].map((name) => `test/storage/btrfs/${name}.inside.ts`)

it.each([
  { as: 'root', files: [...forAll, ...forRoot], least: 31 },
  { as: 'an ordinary user', files: forAll, least: 20 },
] as const)(
  'btrfs as $as',
  ({ as, files, least }) => {
    const { passed, failures } = runOnImage({ fileSystem: 'btrfs', as, files })
    expect(failures).toEqual([])
    expect(passed).toBeGreaterThanOrEqual(least)
  },
  600_000,
)
