import { assertScope } from '../access/principal.ts'
import { sendJson } from '../http/answer.ts'
import type { OwnRoute } from '../http/own-routes.ts'

/** Lets whoever may do everything end the daemon, as SIGTERM does. */
export const stopRoute = (stop: () => void): Record<string, OwnRoute> => ({
  'POST /api/daemon/stop': {
    handle({ response, caller }) {
      if (caller === undefined) return
      assertScope(caller.principal, 'admin', 'ending the daemon')
      response.once('finish', stop)
      sendJson(response, 202, { stopping: true })
    },
  },
})
