import { expect, it } from 'vitest'
import { sandboxOperations } from './sweep-sandboxes.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** As in `build.test.ts`, for what starts, uses and ends sandboxes. */
it.each(Object.entries(sandboxOperations))(
  '%s can be killed at any point',
  async (operation, swept) => {
    const points = await sweep(operation, swept, { recovery: byRecoverOrTouch, ...sampled(5) })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThan(5)
  },
  600_000,
)
