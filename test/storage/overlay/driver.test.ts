import { expect, it } from 'vitest'
import { drawn } from '../../support/random-selection.ts'
import { runOnImage } from '../on-image.ts'

const isRoot = process.getuid?.() === 0

interface Run {
  readonly as: 'root' | 'an ordinary user'
  readonly what: string
  readonly files: readonly string[]
  /** At least so many must pass. */
  readonly tests: number
  readonly only?: string
}

/** Only root can mount an image; an ordinary user's overlay is tried by root, who can become one. */
const runs = [
  {
    as: 'root',
    what: 'beyond the contract',
    files: [
      'test/storage/overlay/mounts.inside.ts',
      'test/storage/overlay/use.inside.ts',
      'test/storage/overlay/flatten.inside.ts',
      'test/storage/overlay/readers.inside.ts',
      'test/storage/overlay/damage.inside.ts',
      'test/storage/overlay/names.inside.ts',
      'test/storage/overlay/boxes.inside.ts',
    ],
    tests: 36,
  },
  {
    as: 'an ordinary user',
    what: 'beyond the contract',
    files: [
      'test/storage/overlay/sandbox.inside.ts',
      'test/storage/overlay/workspaces.inside.ts',
      'test/storage/overlay/flatten.inside.ts',
      'test/storage/overlay/readers.inside.ts',
      'test/storage/overlay/damage.inside.ts',
      'test/storage/overlay/names.inside.ts',
    ],
    tests: 31,
  },
  { as: 'an ordinary user', what: 'keeps the contract', files: ['test/storage/overlay-held.inside.ts'], tests: 155 },
  // All of the manager's contract: test/prove/overlay-manager.test.ts.
  {
    as: 'an ordinary user',
    what: 'under the manager',
    files: ['test/storage/overlay/manager.inside.ts'],
    tests: 14,
    only: ' sandboxes ',
  },
] as const satisfies readonly Run[]

/** They are long: one of each kind here, all of them in `npm run prove`. */
const groupOf = ({ what }: Run): string => (what === 'beyond the contract' ? what : 'contracts')

it.each<Run>(isRoot ? drawn<Run>(runs, groupOf) : [])(
  'overlay $what, as $as',
  { timeout: 600_000 },
  ({ as, files, tests, only }) => {
    const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files, only })
    expect(failures).toEqual([])
    expect(passed).toBeGreaterThanOrEqual(tests)
  },
)

it('is tried wherever it can be', () => {
  expect(runs.map(({ as }) => as)).toContain(isRoot ? 'root' : 'an ordinary user')
})
