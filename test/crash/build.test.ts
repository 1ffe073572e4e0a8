import { it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { expectSurvives } from './sweep.ts'

/**
 * A process that makes or replaces a tree is killed before each of its changes; a third process recovers while a fourth
 * goes on working. How many points there are is printed, for a step that is not counted would not be seen here.
 */
it.each(['create', 'reset', 'undelete'])(
  '%s can be killed at any point',
  async (operation) => {
    await expectSurvives(operation, sweptOperation(operation), { every: 9, least: 10 })
  },
  600_000,
)
