import { expect, it } from 'vitest'
import { runOnImage } from '../storage/on-image.ts'

it('an ordinary user has overlay workspaces that keep every promise of the manager', { timeout: 600_000 }, () => {
  const files = ['test/storage/overlay/manager.inside.ts']
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as: 'an ordinary user', files })
  expect(failures).toEqual([])
  expect(passed).toBeGreaterThanOrEqual(130)
})
