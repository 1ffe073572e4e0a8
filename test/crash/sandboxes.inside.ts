import { expect, it } from 'vitest'
import { sweptOperation } from './operations.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** For a user who is not root: other walls, no cgroups, no stage. AW_STEP=1 is every point. */
it.each(['start', 'stop', 'exec in a sandbox of its own', 'undo of a command'])(
  '%s can be killed at any point',
  async (operation) => {
    const sample = sampled(Number(process.env['AW_STEP'] ?? 1))
    const points = await sweep(operation, sweptOperation(operation), { recovery: byRecoverOrTouch, ...sample })
    expect(points).toBeGreaterThanOrEqual(sample.step === 1 ? 6 : sample.from)
  },
  900_000,
)
