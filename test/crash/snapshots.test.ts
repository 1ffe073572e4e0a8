import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** As in `build.test.ts`, for what makes, shares and removes snapshots. */
it.each(['snapshot', 'fork', 'snapshot remove', 'purge of snapshots'])(
  '%s can be killed at any point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch, ...sampled(5) })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(10)
  },
  600_000,
)
