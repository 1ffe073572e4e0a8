import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import { limited, type HomeFacts } from '../access/limited.ts'
import { assertScope, type Principal } from '../access/principal.ts'
import type { Operation } from '../api/operation.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import type { JsonLimits } from '../domain/text/strict-json.ts'
import type { Answers } from '../ports/answers.ts'
import type { Manager } from '../ports/manager.ts'
import { sendProblem } from './answer.ts'
import { callerOf, type Authenticate, type Caller, type Entrance } from './authenticate.ts'
import { bodyOf } from './limits/body.ts'
import { callOf, cursor, sendAnswer, sendWithProgress, wantsLines, type Call } from './call.ts'
import { contextOf } from './context.ts'
import { sendFile } from './download.ts'
import { operationAt, streamAt } from './routes/operation-at.ts'
import { assertAddressed, headerOf } from './guard.ts'
import { flights, type FlightLimits } from './limits/in-flight.ts'
import { heldBytes, type Held } from './held.ts'
import { inputOf } from './input.ts'
import { leftAlone } from './detach-on-shutdown.ts'
import { whyEnded } from './lines.ts'
import type { Metrics } from './metrics.ts'
import { assertRepeatable, noteOf, onceOnly } from './idempotency.ts'
import { ownRoutes, type Asked, type ClosedRoute, type OwnRoute } from './routes/own-routes.ts'
import { rated, rateLimiter, type Rates } from './limits/rates.ts'
import { rechecking } from './recheck.ts'
import { Refusal } from './refusal.ts'
import { targetOf, type Found, type Target } from './routes/routes.ts'
import { asBadRequest, isSession, sessionRoute } from './session.ts'
import { socketDoor } from './sockets.ts'
import { assertSame, type Stamps } from './version-check.ts'
import { sendItems, sendStream, type StreamLimits } from './stream.ts'
import { traceHeaders, traceOf, type Trace } from './trace.ts'
import { whenLeft } from './limits/until-left.ts'

export interface DoorLimits extends FlightLimits, StreamLimits {
  readonly rates: Rates
  readonly bodyBytes: number
  readonly uploadBytes: number
  /** Of bodies in memory, all requests together. */
  readonly heldBytes: number
  readonly json: JsonLimits
}

export interface DoorOptions {
  readonly manager: Manager
  readonly facts: HomeFacts
  readonly authenticate: Authenticate
  readonly answers: Answers
  readonly limits: DoorLimits
  readonly metrics: Metrics
  /** Told of each answer. */
  readonly log: (record: Readonly<Record<string, unknown>>) => void
  /** Whether requests are taken: not before all was looked at, and not any more when it ends. */
  readonly ready: () => { readonly ready: boolean; readonly reason?: string }
  /** What this daemon is: a client of another version, or that reads other settings, is told so and does it itself. */
  readonly stamps?: Stamps
  /** Addresses that are no operations: by method and path. */
  readonly more?: Readonly<Record<string, OwnRoute>>
}

export type HttpDoor = ReturnType<typeof httpDoor>

/**
 * The operations over HTTP. Of each request is checked, in this order: who it is meant for and which page it comes from,
 * the token, the scope, the rate, the body. What is left is one call of the manager.
 */
export function httpDoor(options: DoorOptions) {
  const { manager, facts, authenticate, answers, limits, metrics, log, ready } = options
  const rates = rateLimiter(limits.rates)
  const flying = flights(limits)
  const holding = heldBytes(limits.heldBytes)
  const recheck = rechecking(authenticate)
  const leaving = new AbortController()
  let ownCount = 0
  const once = onceOnly({ answers, manager })
  const sockets = socketDoor(limits.json)
  const own: Readonly<Record<string, OwnRoute>> = {
    ...ownRoutes({ metrics, ready, flying, all: () => own }),
    ...options.more,
  }

  async function handle(request: IncomingMessage, response: ServerResponse, entrance: Entrance): Promise<void> {
    const begin = performance.now()
    const trace = traceOf(request)
    for (const [name, value] of Object.entries(traceHeaders(trace))) response.setHeader(name, value)
    response.once('close', () => answered(trace, begin, response.statusCode, response.writableFinished))
    try {
      await route(request, response, entrance, trace)
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

  async function route(request: IncomingMessage, response: ServerResponse, entrance: Entrance, trace: Trace) {
    assertAddressed(request, entrance.hosts)
    const target = targetOf(request.url ?? '/')
    assertServed(target.path, entrance)
    const { segments } = target
    const method = request.method ?? ''
    // Whoever looks whether it is well may do without the answer's body.
    const asked = method === 'HEAD' ? 'GET' : method
    const named = [target.path, target.path.replace(/\/[^/]*$/, '/:id')].map((path) => `${asked} ${path}`)
    const name = named.find((one) => segments !== undefined && Object.hasOwn(own, one)) ?? ''
    const plain = method === 'HEAD' && own[name]?.open !== true ? undefined : own[name]
    if (plain?.open === true) return plain.handle({ request, response, requestId: trace.requestId })
    assertSame(request.headers, options.stamps)
    const caller = await callerOf(request, entrance, authenticate)
    trace.actor = caller.principal.actor
    const counted = caller.secret === undefined ? undefined : trace.actor
    if (plain !== undefined) {
      trace.operation = name
      return performOwn(plain, { request, response, requestId: trace.requestId }, caller, counted, trace)
    }
    assertReady()
    const ofSession = isSession(target.path)
    const found = ofSession ? sessionRoute(method, target.path, caller.principal) : operationAt(method, segments)
    trace.operation = found.operation.name
    assertScope(caller.principal, found.operation.scope, found.operation.name)
    if (counted !== undefined) rates.take(counted, found.operation)
    using _ = flying.enter(counted, kindOf(found.operation))
    using held = holding(counted === undefined)
    try {
      await perform(request, response, target, found, caller, trace, held)
    } catch (error) {
      throw ofSession ? asBadRequest(toAwError(error)) : error
    }
  }

  /** What is no operation may do several, or go on for long: it has the same limits, and ends with its token. */
  async function performOwn(
    route: ClosedRoute,
    asked: Asked,
    caller: Caller,
    counted: string | undefined,
    trace: Trace,
  ) {
    const countOne = (): void => {
      if (counted !== undefined) rates.take(counted, undefined)
    }
    const { about, holds, undoes = false } = route
    if (undoes) assertReady()
    if (about.scope !== undefined) assertScope(caller.principal, about.scope, about.summary)
    countOne()
    using _ = flying.enter(holds && counted, holds ?? 'inFlight')
    using held = holding(counted === undefined)
    const stop = new AbortController()
    if (!undoes) stop.signal.addEventListener('abort', () => asked.response.destroy())
    // Under an id that no request can have: whoever cancels one, or speaks MCP, may send the same id with all.
    const flight = { stop, follows: holds === 'streams' }
    using _tracked = flying.track(caller.principal.actor, `own ${++ownCount}`, flight)
    using _checked = recheck(caller, stop)
    const context = contextOf(asked.request, caller.principal, trace.correlationId)
    const own = managerFor(caller)
    const manager = leftAlone(counted === undefined ? own : rated(own, rates, counted), leaving.signal)
    await route.handle({ ...asked, caller, manager, context, countOne, held, signal: stop.signal })
  }

  function assertServed(path: string, { only = path }: Entrance): void {
    if (path !== only) throw new Refusal(404, 'invalid_input', 'There is nothing at this address')
  }

  function assertReady(): void {
    const { ready: isReady, reason = 'The daemon is ending' } = ready()
    if (!isReady) throw new Refusal(503, 'daemon_unavailable', reason, undefined, { 'Retry-After': '1' })
  }

  /** The same checks, for a connection that is to become a WebSocket: a stream with input of its own. */
  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, entrance: Entrance): Promise<void> {
    const [begin, trace] = [performance.now(), traceOf(request)]
    const { requestId } = trace
    socket.on('error', () => undefined)
    try {
      assertAddressed(request, entrance.hosts)
      const { segments, path, query } = targetOf(request.url ?? '/')
      assertServed(path, entrance)
      const caller = await callerOf(request, entrance, authenticate)
      assertReady()
      trace.actor = caller.principal.actor
      const found = streamAt(segments)
      trace.operation = found.operation.name
      assertScope(caller.principal, found.operation.scope, found.operation.name)
      const counted = caller.secret === undefined ? undefined : caller.principal.actor
      if (headerOf(request, 'idempotency-key') !== undefined) assertRepeatable(found.operation, {})
      if (counted !== undefined) rates.take(counted, found.operation)
      using _ = flying.enter(counted, 'streams')
      const stop = new AbortController()
      const leave = leaveOf(found.operation)
      const follows = found.operation.input.properties?.['follow'] !== undefined
      using _tracked = flying.track(caller.principal.actor, requestId, { stop, leave, follows })
      using _checked = recheck(caller, stop, { isOfMany: found.operation.name === 'events' })
      const context = contextOf(request, caller.principal, trace.correlationId)
      const opened = sockets.accept(request, socket, head, traceHeaders(trace))
      await sockets.serve(opened, { manager: managerFor(caller), found, query, context, requestId, stop, leave })
      answered(trace, begin, 101, true)
    } catch (error) {
      answered(trace, begin, sockets.refuse(socket, error, trace), true)
    }
  }

  const managerFor = ({ principal }: Caller): Manager => limited(manager, principal, facts)

  async function perform(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    found: Found,
    caller: Caller,
    { requestId, correlationId }: Trace,
    held: Held,
  ): Promise<void> {
    const { operation } = found
    const query = new Map(target.query)
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
    using _tracked = flying.track(caller.principal.actor, requestId, { stop, leave, follows: input['follow'] === true })
    // Whoever runs something and leaves, leaves it running; everything else that nobody waits for is undone.
    if (operation.outlives !== true) whenLeft(response, () => stop.abort(new AwError('aborted', 'The caller has left')))
    // What takes something away may be what ends the token.
    using _checked =
      operation.kind === 'destructive' ? undefined : recheck(caller, stop, { isOfMany: operation.name === 'events' })
    const context = {
      ...contextOf(request, caller.principal, correlationId),
      signal: stop.signal,
      ...(body.input && { input: body.input }),
    }
    const by = { manager: managerFor(caller), requestId, stop, leave }
    try {
      await answer({ request, response, operation, input, context, ...by }, caller.principal)
    } catch (error) {
      throw whyEnded(error, stop.signal)
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
    const { answer, replayed } = await once(call, `${actor}\n${key}`, noteOf(call))
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

/** Whoever lets go of these leaves them to themselves. */
const leaveOf = ({ outlives }: Operation): AbortController | undefined =>
  outlives === true ? new AbortController() : undefined

const kindOf = ({ form }: Operation): keyof FlightLimits => (form === 'stream' ? 'streams' : 'inFlight')
