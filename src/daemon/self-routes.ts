import { assertScope } from '../access/principal.ts'
import type { DaemonFacts } from '../domain/daemon.ts'
import { sendJson } from '../http/answer.ts'
import type { OwnRoute } from '../http/own-routes.ts'

/** What the daemon tells of itself, and how whoever may do everything ends it, as SIGTERM does. */
export const selfRoutes = (facts: DaemonFacts, stop: () => void): Record<string, OwnRoute> => ({
  'GET /api/daemon': {
    handle({ response, caller }) {
      assertScope(caller.principal, 'admin', 'looking at the daemon')
      sendJson(response, 200, facts)
    },
  },
  'POST /api/daemon/stop': {
    handle({ response, caller }) {
      assertScope(caller.principal, 'admin', 'ending the daemon')
      response.once('finish', stop)
      sendJson(response, 202, { stopping: true })
    },
  },
})
