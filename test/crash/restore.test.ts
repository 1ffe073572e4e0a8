import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** As in `build.test.ts`, for what makes a tree equal to a snapshot. */
it.each(['restore', 'restore of paths', 'undo of a snapshot'])(
  '%s can be killed at any point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch, ...sampled(9) })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(20)
  },
  600_000,
)
