import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sweep } from './sweep.ts'

/** As in `build.test.ts`, for what makes, shares and removes snapshots. */
it.each(['snapshot', 'fork', 'snapshot remove', 'purge of snapshots'])(
  '%s can be killed at every point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(10)
  },
  600_000,
)
