import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** As in `build.test.ts`, for what moves or erases a tree. */
it.each(['destroy', 'rename', 'purge', 'gc'])(
  '%s can be killed at any point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch, ...sampled(4) })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(5)
  },
  600_000,
)
