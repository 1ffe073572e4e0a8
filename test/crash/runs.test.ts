import { expect, it } from 'vitest'
import { runOperations } from './sweep-runs.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** As in `build.test.ts`, for runs. */
it.each(Object.entries(runOperations))(
  '%s can be killed at any point',
  async (operation, swept) => {
    const sample = sampled(11)
    const points = await sweep(operation, swept, { recovery: byRecoverOrTouch, ...sample })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThanOrEqual(sample.from)
  },
  600_000,
)
