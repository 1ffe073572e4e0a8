import { expect, it } from 'vitest'
import { runOnImage } from '../storage/on-image.ts'
import { sandboxOperations } from './sweep-sandboxes.ts'
import { expectSurvives } from './sweep.ts'

/** As in `build.test.ts`, for what starts, uses and ends sandboxes. */
it.each(Object.entries(sandboxOperations))(
  '%s can be killed at any point',
  async (operation, swept) => {
    await expectSurvives(operation, swept, { every: 19, least: 10 })
  },
  600_000,
)

it('sandboxes of an ordinary user can be killed at any point', () => {
  const seed = process.env['AW_SEED'] ?? `${Math.floor(Math.random() * 1000)}`
  console.log(`AW_SEED=${seed}`)
  const files = ['test/crash/sandboxes.inside.ts']
  const env = { AW_STEP: '13', AW_SEED: seed }
  const { passed, failures } = runOnImage({ fileSystem: 'ext4', as: 'an ordinary user', files, env })
  expect(failures).toEqual([])
  expect(passed).toBe(4)
}, 900_000)
