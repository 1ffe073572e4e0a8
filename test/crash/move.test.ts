import { it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { expectSurvives } from './sweep.ts'

/** As in `build.test.ts`, for what moves or erases a tree. */
it.each(['destroy', 'rename', 'purge', 'gc'])(
  '%s can be killed at any point',
  async (operation) => {
    await expectSurvives(operation, sweptOperation(operation), { every: 7, least: 5 })
  },
  600_000,
)
