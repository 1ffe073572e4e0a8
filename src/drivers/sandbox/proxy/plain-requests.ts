import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BrokerRoute } from '../../../domain/network/broker.ts'
import type { Target } from '../../../domain/network/rules.ts'
import type { Exchange } from './exchange.ts'
import type { LogEntry } from './log.ts'
import { refusalFor, sendRefusal } from './refusal-responses.ts'
import { brokeredAnswer, brokeredHeaders } from './broker-headers.ts'
import { brokerTarget } from './broker-target.ts'
import type { ProxyContext } from './context.ts'
import { forward } from './forward.ts'
import { answerHeaders, framingOf, requestHeaders, type Framing } from './headers.ts'
import { connectAllowed, connectBroker, connectDaemon, type ConnectResult } from './connect.ts'
import type { Reason } from './reasons.ts'
import { targetOfRequest, type RequestTarget } from './request-target.ts'
import { connectTls, type TlsResult } from './tls.ts'

/** `GET http://host/path`, or `GET /.aw/name/path` for a broker: judged, sent on, answered. */
export async function handleRequest(
  context: ProxyContext,
  request: IncomingMessage,
  response: ServerResponse,
  expects?: 'continue' | 'unknown',
): Promise<void> {
  const { brokers, limits, owner, exchanges, connections } = context
  const exchange = exchanges.begin(request.method)
  const wanted = brokerTarget(request, brokers) ?? targetOfRequest(request)
  const framing = framingOf(request)
  if (wanted.target !== undefined) exchange.wants(wanted.target)
  const say = (reason: Reason): void => sendRefusal(response, refusalFor(reason, wanted.target, owner))

  const problem = context.obstacle(request) ?? wanted.problem ?? framingProblem(framing) ?? crowding(context, wanted)
  if (problem !== undefined || wanted.path === undefined || expects === 'unknown') {
    const reason = problem ?? 'unknown_expectation'
    exchange.end('refused', reason)
    return say(reason)
  }

  let gone = false
  const done = connections.add(request.socket, () => (gone = true))
  const { target, path, broker } = wanted
  if (broker?.socket !== undefined) {
    context.bridged.add(response)
    response.once('close', () => context.bridged.delete(response))
  }
  const way = await wayTo(context, target, broker, exchange)
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
  { rules, limits, surroundings, trusted }: ProxyContext,
  target: Target,
  broker: BrokerRoute | undefined,
  exchange: Exchange,
): Promise<ConnectResult | TlsResult> {
  const reached = await (broker === undefined
    ? connectAllowed(target, rules, surroundings, limits.connect_ms)
    : broker.socket === undefined
      ? connectBroker(target, surroundings, limits.connect_ms)
      : connectDaemon(broker.socket, surroundings, limits.connect_ms))
  if (reached.kind !== 'connected') return reached
  exchange.reaches(reached.address, reached.socket)
  if (broker?.secure !== true) return reached
  return connectTls(reached.socket, target.host, trusted(), limits.connect_ms)
}

function outcome(failure: Reason | undefined, response: ServerResponse): [LogEntry['verdict'], LogEntry['reason']] {
  if (failure !== undefined) return ['failed', failure]
  return ['allowed', response.writableFinished ? null : 'client_gone']
}

/** The daemon is there for all sandboxes: one of them does not take it up alone. */
const crowding = ({ bridged, limits }: ProxyContext, { broker }: RequestTarget): Reason | undefined =>
  broker?.socket !== undefined && bridged.size >= limits.bridged ? 'too_many' : undefined

function framingProblem({ kind }: Framing): Reason | undefined {
  if (kind === 'wrong') return 'framing'
  return kind === 'unknown' ? 'unknown_framing' : undefined
}
