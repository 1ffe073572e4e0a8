import { it } from 'vitest'
import { agentOperations } from './sweep-agents.ts'
import { expectSurvives } from './sweep.ts'

/** As in `build.test.ts`, for what agents have beside their workspaces. */
it.each(Object.entries(agentOperations))(
  '%s can be killed at any point',
  async (operation, swept) => {
    await expectSurvives(operation, swept, { every: 17, least: 30 })
  },
  600_000,
)
