import { expect, it } from 'vitest'
import { drawn, twoDrivers } from '../support/random-selection.ts'
import { runOnImage } from '../storage/on-image.ts'
import { requirements } from '../storage/requirements.ts'

/** Where workspaces come from does not depend on a third file system. */
const grounds = requirements.filter(({ fileSystem }) => fileSystem !== 'xfs')

it.each(drawn(grounds, twoDrivers))(
  '$driver on $fileSystem makes workspaces from everything, as $as',
  { timeout: 600_000 },
  (ground) => {
    const { driver, fileSystem, as } = ground
    const files = ['git', 'folders', 'others', 'state', 'repository', 'cp', 'ownership', 'orphans'].map(
      (name) => `test/sources/${name}.inside.ts`,
    )
    const { passed, failures } = runOnImage({ fileSystem, as, files, env: { AW_TEST_DRIVER: driver } })
    expect(failures).toEqual([])
    expect(passed).toBe(54)
  },
)

it('is tried wherever it can be', () => {
  expect(grounds).toHaveLength(process.getuid?.() === 0 ? 5 : 0)
})
