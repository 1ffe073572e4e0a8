import { expect, it } from 'vitest'
import { drawn } from '../support/random-selection.ts'
import { runOnImage } from '../storage/on-image.ts'
import { requirements } from '../storage/requirements.ts'

/** What is handed out does not depend on a third file system. */
const grounds = requirements.filter(({ fileSystem }) => fileSystem !== 'xfs')

it.each(drawn(grounds, () => 'any'))(
  'results come out of workspaces of $driver on $fileSystem, as $as',
  { timeout: 600_000 },
  (ground) => {
    const { driver, fileSystem, as } = ground
    const files = ['agent-files', 'baseline', 'export', 'patch', 'placeholders', 'sources'].map(
      (name) => `test/results/${name}.inside.ts`,
    )
    const { passed, failures } = runOnImage({ fileSystem, as, files, env: { AW_TEST_DRIVER: driver } })
    expect(failures).toEqual([])
    expect(passed).toBe(39)
  },
)

/** Who reads the tree is the same everywhere; as whom matters. */
const hosts = requirements.filter(({ driver, fileSystem }) => driver === 'dir' && fileSystem === 'ext4')

it.each(drawn(hosts, () => 'hosts'))(
  'nothing that an agent leaves for git runs outside, as $as',
  { timeout: 600_000 },
  ({ fileSystem, as }) => {
    const files = ['test/results/hostile.inside.ts']
    const { passed, failures } = runOnImage({ fileSystem, as, files, env: { AW_TEST_DRIVER: 'dir' } })
    expect(failures).toEqual([])
    expect(passed).toBe(6)
  },
)

it('is tried wherever it can be', () => {
  expect([grounds.length, hosts.length]).toEqual(process.getuid?.() === 0 ? [5, 2] : [0, 0])
})
