import { it } from 'vitest'
import { runOperations } from './sweep-runs.ts'
import { expectSurvives } from './sweep.ts'

/** As in `build.test.ts`, for runs. */
it.each(Object.entries(runOperations))(
  '%s can be killed at any point',
  async (operation, swept) => {
    await expectSurvives(operation, swept, { every: 17, least: 15 })
  },
  600_000,
)
