import { it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { expectSurvives } from './sweep.ts'

/** As in `build.test.ts`, for what makes, shares and removes snapshots. */
it.each(['snapshot', 'fork', 'snapshot remove', 'purge of snapshots'])(
  '%s can be killed at any point',
  async (operation) => {
    await expectSurvives(operation, sweptOperation(operation), { every: 9, least: 10 })
  },
  600_000,
)
