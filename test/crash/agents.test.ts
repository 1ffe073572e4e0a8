import { expect, it } from 'vitest'
import { agentOperations } from './sweep-agents.ts'
import { byRecoverOrTouch, sampled, sweep } from './sweep.ts'

/** As in `build.test.ts`, for what agents have beside their workspaces. */
it.each(Object.entries(agentOperations))(
  '%s can be killed at any point',
  async (operation, swept) => {
    const sample = sampled(11)
    const points = await sweep(operation, swept, { recovery: byRecoverOrTouch, ...sample })
    console.log(`${operation}: ${points} points`)
    expect(points).toBeGreaterThanOrEqual(sample.from)
  },
  600_000,
)
