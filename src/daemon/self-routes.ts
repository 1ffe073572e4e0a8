import { boolean, integer, nullable, object, string, type Schema } from '../api/schema.ts'
import type { DaemonFacts } from '../domain/daemon.ts'
import { sendJson } from '../http/answer.ts'
import type { ServerRoute } from '../http/routes/server-routes.ts'

const about: Schema<DaemonFacts> = object({
  pid: integer('Its process'),
  version: string('Its version'),
  started_at: string('When it began to serve'),
  socket: string('The socket of the home'),
  listen: nullable(string('http://127.0.0.1:PORT, if it listens there')),
})

/** What the daemon tells of itself, and how whoever may do everything ends it, as SIGTERM does. */
export const selfRoutes = (facts: DaemonFacts, stop: () => void): Record<string, ServerRoute> => ({
  'GET /api/daemon': {
    about: {
      id: 'daemon_show',
      summary: 'What the daemon is and where it listens',
      scope: 'admin',
      answers: { 200: ['That', { 'application/json': about }] },
    },
    handle: ({ response }) => sendJson(response, 200, facts),
  },
  'POST /api/daemon/stop': {
    about: {
      id: 'daemon_stop',
      summary: 'End the daemon, as SIGTERM does',
      scope: 'admin',
      answers: { 202: ['It ends', { 'application/json': object({ stopping: boolean('Always true') }) }] },
    },
    handle({ response }) {
      response.once('finish', stop)
      sendJson(response, 202, { stopping: true })
    },
  },
})
