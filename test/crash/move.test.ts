import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sweep } from './sweep.ts'

/** As in `build.test.ts`, for what moves or erases a tree. */
it.each(['destroy', 'rename', 'purge', 'gc'])(
  '%s can be killed at every point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(5)
  },
  600_000,
)
