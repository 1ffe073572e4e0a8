import { expect, it } from 'vitest'
import { insideTests } from '../sandbox/inside-tests.ts'
import { runOnImage } from '../storage/on-image.ts'

it.each(['root', 'an ordinary user'] as const)('many sandboxes of %s at once', (as) => {
  const files = ['test/sandbox/stress.inside.ts']
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files, env: { AW_STRESS: 'long' } })
  expect(failures).toEqual([])
  expect(passed).toBe(insideTests.stress)
})

/** As root they are among the others, in `crash.test.ts`. */
it('sandboxes of an ordinary user can be killed at every point', () => {
  const files = ['test/crash/sandboxes.inside.ts']
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as: 'an ordinary user', files, env: { AW_STEP: '1' } })
  expect(failures).toEqual([])
  expect(passed).toBe(4)
})

it.each(['root', 'an ordinary user'] as const)('every part of a sandbox of %s is killed or stopped', (as) => {
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as, files: ['test/sandbox/kills.inside.ts'] })
  expect(failures).toEqual([])
  expect(passed).toBe(insideTests.kills)
})
