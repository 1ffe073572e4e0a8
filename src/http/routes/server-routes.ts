import type { IncomingMessage, ServerResponse } from 'node:http'
import { boolean, object, string, type JsonSchema } from '../../api/schema.ts'
import { AwError } from '../../domain/errors.ts'
import type { Manager } from '../../ports/manager.ts'
import { commonHeaders, sendJson } from '../answer.ts'
import type { Caller } from '../authenticate.ts'
import type { RequestContext } from '../context.ts'
import type { BodyMemory } from '../body-memory.ts'
import type { FlightLimits, flights } from '../limits/in-flight.ts'
import type { Metrics } from '../metrics.ts'
import { openApi } from './openapi.ts'
import type { RouteAbout } from './openapi-server-routes.ts'
import { Refusal } from '../refusal.ts'
import { targetOf } from './routes.ts'

export interface RouteRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
}

export interface AuthenticatedRequest extends RouteRequest {
  readonly caller: Caller
  /** With the rights of the caller. */
  readonly manager: Manager
  /** For what is done with it. */
  readonly context: RequestContext
  /** For each more that comes with the same request. Throws if it is more than the caller may ask for. */
  readonly countOne: () => void
  /** For what of the request is read into memory. */
  readonly held: Pick<BodyMemory, 'take'>
  /** When it has to end: the daemon does, or the token is gone. */
  readonly signal: AbortSignal
}

/** An address that is no operation. `open`: also without a token, as it tells nothing. */
export type ServerRoute = OpenRoute | ClosedRoute

interface OpenRoute {
  readonly open: true
  readonly about: RouteAbout
  readonly handle: (asked: RouteRequest) => void | Promise<void>
}

export interface ClosedRoute {
  readonly open?: undefined
  /** What it says of scopes is asked for before it is handled. */
  readonly about: RouteAbout
  /** It counts among what a token has open at once: it does what operations do, or goes on for long. */
  readonly holds?: keyof FlightLimits
  /** It does what operations do: taken as they are, and when it has to end it undoes what it has begun and answers. */
  readonly undoes?: boolean
  readonly handle: (asked: AuthenticatedRequest) => void | Promise<void>
}

interface Parts {
  readonly metrics: Metrics
  readonly ready: () => { readonly ready: boolean; readonly reason?: string }
  readonly flying: ReturnType<typeof flights>
  /** All that there are, for the document. */
  readonly all: () => Readonly<Record<string, ServerRoute>>
}

const json = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> => ({ 'application/json': schema })
const status = json(object({ status: string('One word') }))

export function serverRoutes({ metrics, ready, flying, all }: Parts): Record<string, ServerRoute> {
  return {
    'GET /api/health': {
      open: true,
      about: { id: 'daemon_health', summary: 'Whether it answers', answers: { 200: ['It does', status] } },
      handle: ({ response }) => sendJson(response, 200, { status: 'ok' }),
    },
    'GET /api/ready': {
      open: true,
      about: {
        id: 'daemon_ready',
        summary: 'Whether it takes requests',
        answers: { 200: ['It does', status], 503: ['It does not: it ends', status] },
      },
      handle({ response }) {
        const state = ready()
        sendJson(response, state.ready ? 200 : 503, { status: state.ready ? 'ready' : 'not ready' })
      },
    },
    'GET /api/openapi.json': {
      about: {
        id: 'daemon_document',
        summary: 'This document',
        answers: { 200: ['It', json({ type: 'object', additionalProperties: true })] },
      },
      handle: ({ response }) => sendJson(response, 200, openApi(all())),
    },
    'GET /metrics': {
      about: {
        id: 'daemon_metrics',
        summary: 'Figures for Prometheus; not for a token that is for certain workspaces',
        scope: 'read',
        answers: { 200: ['In its text format', { 'text/plain': { type: 'string' } }] },
      },
      async handle({ response, caller }) {
        assertWhole(caller)
        const text = await metrics.text()
        response.writeHead(200, { ...commonHeaders, 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
        response.end(text)
      },
    },
    'DELETE /api/requests/:id': {
      about: {
        id: 'daemon_cancel_request',
        summary: 'Cancel a request of your own that is under way, by its X-Request-Id',
        answers: {
          202: ['It is told; its own answer says what became of it', json(object({ stopped: boolean('Always true') }))],
          404: [
            'There is none',
            { 'application/problem+json': { $ref: '#/components/schemas/Problem' } as JsonSchema },
          ],
        },
      },
      handle({ request, response, caller }) {
        const id = targetOf(request.url ?? '/').segments?.at(-1) ?? ''
        const stopped = flying.abort(caller.principal.actor, id, new AwError('aborted', 'The caller cancelled this'))
        if (!stopped) throw new Refusal(404, 'invalid_input', 'There is no such request of yours under way')
        sendJson(response, 202, { stopped })
      },
    },
  }
}

/** Figures of all workspaces are not for those who are held to some. */
function assertWhole(caller: Caller): void {
  if (caller.principal.workspaces !== null)
    throw new AwError('permission_denied', 'This token is for certain workspaces, and this is about all of them')
}
