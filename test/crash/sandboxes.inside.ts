import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** For a user who is not root: other walls, no cgroups, no stage. AW_STEP=1 is every point. */
it.each(['start', 'stop', 'exec in a sandbox of its own', 'undo of a command'])(
  '%s can be killed at any point',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), {
      recovery: byRecoverOrTouch,
      ...sampled(Number(process.env['AW_STEP'] ?? 1)),
    })
    expect(points).toBeGreaterThan(5)
  },
  900_000,
)
