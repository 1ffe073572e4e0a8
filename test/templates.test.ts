import { expect, it } from 'vitest'
import { runOnImage } from './storage/on-image.ts'
import { requirements } from './storage/requirements.ts'

/** What runs in a template does not depend on a third file system. */
const grounds = requirements.filter(({ fileSystem }) => fileSystem !== 'xfs')

it.each(grounds)('templates are set up on $driver on $fileSystem, as $as', { timeout: 600_000 }, (ground) => {
  const { driver, fileSystem, as } = ground
  // How sandboxes and processes live and end is not the storage's business.
  const names = driver === 'dir' ? ['set-up', 'lives'] : ['set-up']
  const files = names.map((name) => `test/templates/${name}.inside.ts`)
  const { passed, failures } = runOnImage({ fileSystem, as, files, env: { AW_TEST_DRIVER: driver } })
  expect(failures).toEqual([])
  expect(passed).toBe(driver === 'dir' ? 7 : 3)
})

it('is tried wherever it can be', () => {
  expect(grounds).toHaveLength(process.getuid?.() === 0 ? 5 : 0)
})
