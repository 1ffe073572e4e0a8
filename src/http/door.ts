import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import type { HomeFacts } from '../access/limited.ts'
import type { Principal } from '../access/principal.ts'
import type { Operation } from '../api/operation.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import type { JsonLimits } from '../domain/text/strict-json.ts'
import type { IdempotencyStore } from '../ports/idempotency-store.ts'
import type { Manager } from '../ports/manager.ts'
import {
  addressOf,
  admission,
  type AdmissionLimits,
  type Admitted,
  type Arrival,
  type RouteLookup,
  type Ready,
  type Wanted,
} from './admission.ts'
import { sendProblem } from './answer.ts'
import type { Authenticate, ListenerInfo } from './authenticate.ts'
import { bodyOf } from './limits/body.ts'
import { callOf, cursor, sendAnswer, sendWithProgress, wantsLines, type Call } from './call.ts'
import { sendFile } from './download.ts'
import { operationAt, streamAt } from './routes/operation-at.ts'
import { headerOf } from './guard.ts'
import { inputOf } from './input.ts'
import { detachOnShutdown } from './detach-on-shutdown.ts'
import { abortReason } from './lines.ts'
import type { Metrics } from './metrics.ts'
import { assertRepeatable, idempotentCalls, requestNote } from './idempotency.ts'
import { serverRoutes, type ClosedRoute, type RouteRequest, type ServerRoute } from './routes/server-routes.ts'
import { rateLimited } from './limits/rates.ts'
import { Refusal } from './refusal.ts'
import type { Found, Query, Target } from './routes/routes.ts'
import { asBadRequest, isSession, sessionRoute } from './session.ts'
import { socketDoor } from './sockets.ts'
import { assertSameVersion, type VersionStamps } from './version-check.ts'
import { sendItems, sendStream, type StreamLimits } from './stream.ts'
import { traceHeaders, traceOf, type Trace } from './trace.ts'
import { onDisconnect } from './limits/disconnect.ts'

export interface DoorLimits extends AdmissionLimits, StreamLimits {
  readonly bodyBytes: number
  readonly uploadBytes: number
  readonly json: JsonLimits
}

export interface DoorOptions {
  readonly manager: Manager
  readonly facts: HomeFacts
  readonly authenticate: Authenticate
  readonly answers: IdempotencyStore
  readonly limits: DoorLimits
  readonly metrics: Metrics
  /** Told of each answer. */
  readonly log: (record: Readonly<Record<string, unknown>>) => void
  /** Whether requests are taken: not before all was looked at, and not any more when it ends. */
  readonly ready: Ready
  /** What this daemon is: a client of another version, or that reads other settings, is told so and does it itself. */
  readonly stamps?: VersionStamps
  /** Addresses that are no operations: by method and path. */
  readonly more?: Readonly<Record<string, ServerRoute>>
}

export type HttpDoor = ReturnType<typeof httpDoor>

/** The operations over HTTP: what passed all checks (see `admission`) is answered in one of three ways. */
export function httpDoor(options: DoorOptions) {
  const { answers, limits, metrics, log, ready } = options
  const { admit, rates, flying } = admission(options)
  const leaving = new AbortController()
  let ownCount = 0
  const once = idempotentCalls({ answers, manager: options.manager })
  const sockets = socketDoor(limits.json)
  const own: Readonly<Record<string, ServerRoute>> = {
    ...serverRoutes({ metrics, ready, flying, all: () => own }),
    ...options.more,
  }

  async function handle(request: IncomingMessage, response: ServerResponse, entrance: ListenerInfo): Promise<void> {
    const begin = performance.now()
    const trace = traceOf(request)
    for (const [name, value] of Object.entries(traceHeaders(trace))) response.setHeader(name, value)
    response.once('close', () => answered(trace, begin, response.statusCode, response.writableFinished))
    try {
      await route({ request, entrance, trace }, response)
    } catch (error) {
      if (toAwError(error).code === 'internal')
        log({
          request_id: trace.requestId,
          correlation_id: trace.correlationId,
          error: String(toAwError(error).stack),
        })
      sendProblem(response, error, trace.requestId)
    }
  }

  function answered(trace: Trace, begin: number, status: number, whole: boolean): void {
    const { requestId, correlationId, operation, actor } = trace
    const ms = performance.now() - begin
    metrics.answered(operation, status, ms / 1000)
    const about = { request_id: requestId, correlation_id: correlationId, actor, operation }
    log({ ...about, status, ms: Math.round(ms * 100) / 100, whole })
  }

  async function route(arrival: Arrival, response: ServerResponse): Promise<void> {
    const { request, entrance, trace } = arrival
    const target = addressOf(request, entrance)
    const method = request.method ?? ''
    const { name, route } = ownAt(method, target)
    const asked = { request, response, requestId: trace.requestId }
    if (route?.open === true) return route.handle(asked)
    assertSameVersion(request.headers, options.stamps)
    if (route !== undefined) {
      using admitted = await admit(arrival, wantedOwn(name, route))
      return await performOwn(route, asked, admitted)
    }
    const ofSession = isSession(target.path)
    using admitted = await admit(arrival, {
      needsReady: true,
      find: (principal) =>
        wantedOf(ofSession ? sessionRoute(method, target.path, principal) : operationAt(method, target.segments)),
    })
    try {
      await perform(asked, target.query, admitted)
    } catch (error) {
      throw ofSession ? asBadRequest(toAwError(error)) : error
    }
  }

  /** HEAD is for whoever asks whether it is well, and does without the answer's body. */
  function ownAt(method: string, { path, segments }: Target): { name: string; route: ServerRoute | undefined } {
    const asked = method === 'HEAD' ? 'GET' : method
    const names = [path, path.replace(/\/[^/]*$/, '/:id')].map((one) => `${asked} ${one}`)
    const name = names.find((one) => segments !== undefined && Object.hasOwn(own, one)) ?? ''
    const route = own[name]
    return { name, route: method === 'HEAD' && route?.open !== true ? undefined : route }
  }

  /** What is no operation may do several, or go on for long: it has the same limits, and ends with its token. */
  async function performOwn(route: ClosedRoute, asked: RouteRequest, admitted: Admitted<Wanted>): Promise<void> {
    const { caller, counted, countOne, held } = admitted
    const stop = new AbortController()
    if (route.undoes !== true) stop.signal.addEventListener('abort', () => asked.response.destroy())
    // Under an id that no request can have: whoever cancels one, or speaks MCP, may send the same id with all.
    using _ = admitted.begin(`own ${++ownCount}`, { stop, follows: route.holds === 'streams' })
    const context = admitted.context()
    const limited = counted === undefined ? admitted.manager : rateLimited(admitted.manager, rates, counted)
    const manager = detachOnShutdown(limited, leaving.signal)
    await route.handle({ ...asked, caller, manager, context, countOne, held, signal: stop.signal })
  }

  /** A connection that is to become a WebSocket: a stream with input of its own. */
  async function upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    entrance: ListenerInfo,
  ): Promise<void> {
    const [begin, trace] = [performance.now(), traceOf(request)]
    const { requestId } = trace
    socket.on('error', () => undefined)
    try {
      const { segments, query } = addressOf(request, entrance)
      const find = (): OperationWanted => wantedStream(request, streamAt(segments))
      using admitted = await admit({ request, entrance, trace }, { needsReady: true, find })
      const { found } = admitted.wanted
      const { operation } = found
      const stop = new AbortController()
      const leave = leaveOf(operation)
      const follows = operation.input.properties?.['follow'] !== undefined
      using _ = admitted.begin(requestId, { stop, leave, follows }, { isOfMany: operation.name === 'events' })
      const context = admitted.context()
      const opened = sockets.accept(request, socket, head, traceHeaders(trace))
      await sockets.serve(opened, { manager: admitted.manager, found, query, context, requestId, stop, leave })
      answered(trace, begin, 101, true)
    } catch (error) {
      answered(trace, begin, sockets.refuse(socket, error, trace), true)
    }
  }

  async function perform(asked: RouteRequest, given: Query, admitted: Admitted<OperationWanted>): Promise<void> {
    const { request, response, requestId } = asked
    const { caller, held, manager, wanted } = admitted
    const { found } = wanted
    const { operation } = found
    const query = new Map(given)
    const page = query.get(cursor) ?? []
    if (page.length > 1 || !/^\d{1,9}$/.test(page[0] ?? '0'))
      throw new Refusal(400, 'invalid_input', 'The cursor is not one that came with a page')
    query.delete(cursor)
    // The user's own files are of any size, as without a daemon.
    const own = caller.secret === undefined ? { ...limits, uploadBytes: Infinity } : limits
    const body = await bodyOf(request, operation, own, held)
    const input = { ...found.defaults, ...inputOf(found, query, body.json) }
    const stop = new AbortController()
    const leave = leaveOf(operation)
    // What takes something away may be what ends the token.
    const recheck = operation.kind === 'destructive' ? false : { isOfMany: operation.name === 'events' }
    using _ = admitted.begin(requestId, { stop, leave, follows: input['follow'] === true }, recheck)
    // Whoever runs something and leaves, leaves it running; everything else that nobody waits for is undone.
    if (operation.outlives !== true)
      onDisconnect(response, () => stop.abort(new AwError('aborted', 'The caller has left')))
    const context = { ...admitted.context(), signal: stop.signal, ...(body.input && { input: body.input }) }
    try {
      await answer({ request, response, operation, input, context, manager, requestId, stop, leave }, caller.principal)
    } catch (error) {
      throw abortReason(error, stop.signal)
    }
  }

  async function answer(call: Call, principal: Principal): Promise<void> {
    const { request, operation, input } = call
    const key = headerOf(request, 'idempotency-key')
    if (key !== undefined) assertRepeatable(operation, input)
    if (key !== undefined && operation.kind !== 'read') return performOnce(call, principal, key)
    if (operation.form === 'bytes' || operation.gives === 'bytes') return sendFile(call)
    if (operation.form === 'stream') return sendStream(call, limits)
    if (wantsLines(request)) return sendWithProgress(call)
    sendAnswer(call, await callOf(call))
  }

  async function performOnce(call: Call, { actor }: Principal, key: string): Promise<void> {
    if (key.length === 0 || key.length > 255)
      throw new Refusal(400, 'invalid_input', 'An idempotency key has 1 to 255 characters')
    const { answer, replayed } = await once(call, `${actor}\n${key}`, requestNote(call))
    if (replayed) call.response.setHeader('Idempotency-Replayed', 'true')
    if (call.operation.form !== 'stream') return sendAnswer(call, answer)
    await sendItems(call, Readable.from(answer.value as object[]), limits)
  }

  return {
    handle,
    upgrade,
    /** Ends those that only follow what others do, or all. */
    end(reason: Error, which: 'followers' | 'all'): void {
      if (which === 'all') leaving.abort(reason)
      flying.end(reason, which)
    },
  }
}

interface OperationWanted extends Wanted {
  readonly found: Found
}

const wantedOf = (found: Found): OperationWanted => {
  const { operation } = found
  const { name, scope, form } = operation
  return { found, name, title: name, scope, operation, holds: form === 'stream' ? 'streams' : 'inFlight' }
}

/** What a WebSocket answers is not kept, so that only a read may come with an idempotency key. */
const wantedStream = (request: IncomingMessage, found: Found): OperationWanted => ({
  ...wantedOf(found),
  check() {
    if (headerOf(request, 'idempotency-key') !== undefined) assertRepeatable(found.operation, {})
  },
})

const wantedOwn = (name: string, { about, holds, undoes = false }: ClosedRoute): RouteLookup<Wanted> => ({
  name,
  needsReady: undoes,
  find: () => ({ name, title: about.summary, scope: about.scope, holds }),
})

/** Whoever lets go of these leaves them to themselves. */
const leaveOf = ({ outlives }: Operation): AbortController | undefined =>
  outlives === true ? new AbortController() : undefined
