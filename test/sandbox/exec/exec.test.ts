import { expect, it } from 'vitest'
import { drawn, twoDrivers } from '../../support/random-selection.ts'
import { runOnImage } from '../../storage/on-image.ts'
import { requirements } from '../../storage/requirements.ts'

const grounds = requirements.filter(({ fileSystem }) => fileSystem !== 'xfs')

it.each(drawn(grounds, twoDrivers))(
  'commands run in workspaces of $driver on $fileSystem, as $as',
  { timeout: 600_000 },
  (ground) => {
    const { driver, fileSystem, as } = ground
    const files = ['undo', 'surroundings'].map((name) => `test/sandbox/exec/${name}.inside.ts`)
    const { passed, failures } = runOnImage({ fileSystem, as, files, env: { AW_TEST_DRIVER: driver } })
    expect(failures).toEqual([])
    expect(passed).toBe(10)
  },
)

it('is tried wherever it can be', () => {
  expect(grounds).toHaveLength(process.getuid?.() === 0 ? 5 : 0)
})
