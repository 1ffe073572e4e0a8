import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BrokerRoute } from '../../../domain/network/broker.ts'
import type { Target } from '../../../domain/network/rules.ts'
import type { Exchange } from './exchange.ts'
import type { LogEntry } from './log.ts'
import { answerFor, answerRequest } from './refusal-responses.ts'
import { brokeredAnswer, brokeredHeaders } from './broker-headers.ts'
import { wantedOfBroker } from './broker-target.ts'
import type { Desk } from './context.ts'
import { forward } from './forward.ts'
import { answerHeaders, framingOf, requestHeaders, type Framing } from './headers.ts'
import { reach, reachLocal, reachUpstream, type Reached } from './connect.ts'
import type { Reason } from './reasons.ts'
import { wantedByRequest, type Wanted } from './request-target.ts'
import { secure, type Secured } from './tls.ts'

/** `GET http://host/path`, or `GET /.aw/name/path` for a broker: judged, sent on, answered. */
export async function handleRequest(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
  expects?: 'continue' | 'unknown',
): Promise<void> {
  const { brokers, limits, owner, exchanges, connections } = desk
  const exchange = exchanges.begin(request.method)
  const wanted = wantedOfBroker(request, brokers) ?? wantedByRequest(request)
  const framing = framingOf(request)
  if (wanted.target !== undefined) exchange.wants(wanted.target)
  const say = (reason: Reason): void => answerRequest(response, answerFor(reason, wanted.target, owner))

  const problem = desk.obstacle(request) ?? wanted.problem ?? framingProblem(framing) ?? crowding(desk, wanted)
  if (problem !== undefined || wanted.path === undefined || expects === 'unknown') {
    const reason = problem ?? 'unknown_expectation'
    exchange.end('refused', reason)
    return say(reason)
  }

  let gone = false
  const done = connections.add(request.socket, () => (gone = true))
  const { target, path, broker } = wanted
  if (broker?.socket !== undefined) {
    desk.bridged.add(response)
    response.once('close', () => desk.bridged.delete(response))
  }
  const way = await wayTo(desk, target, broker, exchange)
  done()
  if (way.kind !== 'connected') {
    exchange.end(way.kind, way.reason)
    return say(way.reason)
  }
  const { socket: upstream } = way
  if (gone) {
    upstream.destroy()
    return exchange.end('allowed', 'client_gone')
  }

  let failure: Reason | undefined
  const fail = (reason: Reason): void => {
    failure ??= reason
    if (!response.headersSent) say(reason)
  }
  const headers = broker ? brokeredHeaders(request, broker, framing) : requestHeaders(request, target, framing)
  const back = (answer: IncomingMessage) => (broker ? brokeredAnswer(answer, broker, path) : answerHeaders(answer))
  const outgoing = forward({ request, response, path, framing, headers, back, upstream, limits, fail })
  const end = (): void => {
    over()
    exchange.end(...outcome(failure, response))
    outgoing.destroy()
  }
  const over = connections.add(request.socket, end)
  response.on('close', end)
  if (expects === 'continue') response.writeContinue()
}

/** A connection to whom it is for; to a broker's upstream, with TLS where that is so. */
async function wayTo(
  { rules, limits, surroundings, trusted }: Desk,
  target: Target,
  broker: BrokerRoute | undefined,
  exchange: Exchange,
): Promise<Reached | Secured> {
  const reached = await (broker === undefined
    ? reach(target, rules, surroundings, limits.connect_ms)
    : broker.socket === undefined
      ? reachUpstream(target, surroundings, limits.connect_ms)
      : reachLocal(broker.socket, surroundings, limits.connect_ms))
  if (reached.kind !== 'connected') return reached
  exchange.reaches(reached.address, reached.socket)
  if (broker?.secure !== true) return reached
  return secure(reached.socket, target.host, trusted(), limits.connect_ms)
}

function outcome(failure: Reason | undefined, response: ServerResponse): [LogEntry['verdict'], LogEntry['reason']] {
  if (failure !== undefined) return ['failed', failure]
  return ['allowed', response.writableFinished ? null : 'client_gone']
}

/** The daemon is there for all sandboxes: one of them does not take it up alone. */
const crowding = ({ bridged, limits }: Desk, { broker }: Wanted): Reason | undefined =>
  broker?.socket !== undefined && bridged.size >= limits.bridged ? 'too_many' : undefined

function framingProblem({ kind }: Framing): Reason | undefined {
  if (kind === 'wrong') return 'framing'
  return kind === 'unknown' ? 'unknown_framing' : undefined
}
