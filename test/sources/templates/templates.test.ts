import { expect, it } from 'vitest'
import { drawn, twoDrivers } from '../../support/random-selection.ts'
import { runOnImage } from '../../storage/on-image.ts'
import { requirements } from '../../storage/requirements.ts'

const isRoot = process.getuid?.() === 0

/** What runs in a template does not depend on a third file system. */
const grounds = requirements.filter(({ fileSystem }) => fileSystem !== 'xfs')

it.each(drawn(grounds, twoDrivers))(
  'templates are set up on $driver on $fileSystem, as $as',
  { timeout: 600_000 },
  (ground) => {
    const { driver, fileSystem, as } = ground
    // How sandboxes and processes live and end is not the storage's business.
    const names = driver === 'dir' ? ['set-up', 'lives'] : ['set-up']
    const files = names.map((name) => `test/sources/templates/${name}.inside.ts`)
    const { passed, failures } = runOnImage({ fileSystem, as, files, env: { AW_TEST_DRIVER: driver } })
    expect(failures).toEqual([])
    expect(passed).toBe(driver === 'dir' ? 9 : 3)
  },
)

const others = isRoot ? (['an ordinary user'] as const) : []

it.each(others)('and in trees that only sandboxes see, of %s', { timeout: 600_000 }, (as) => {
  const files = ['test/storage/overlay/manager.inside.ts']
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files, only: ' set-ups ' })
  expect(failures).toEqual([])
  expect(passed).toBe(6)
})

it('is tried wherever it can be', () => {
  expect(grounds).toHaveLength(isRoot ? 5 : 0)
})
