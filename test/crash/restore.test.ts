import { it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { expectSurvives } from './sweep.ts'

/** As in `build.test.ts`, for what makes a tree equal to a snapshot. */
it.each(['restore', 'restore of paths', 'undo of a snapshot'])(
  '%s can be killed at any point',
  async (operation) => {
    await expectSurvives(operation, sweptOperation(operation), { every: 15, least: 20 })
  },
  600_000,
)
