import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/**
 * A process that makes or replaces a tree is killed before each of its changes; a third process recovers while a fourth
 * goes on working. How many points there are is printed, for a step that is not counted would not be seen here.
 */
it.each(['create', 'reset', 'undelete'])(
  '%s can be killed at any point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch, ...sampled(5) })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(10)
  },
  600_000,
)
