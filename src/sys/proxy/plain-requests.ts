import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LogEntry } from './log.ts'
import { answerFor, answerRequest } from './answers.ts'
import type { Desk } from './desk.ts'
import { forward } from './forward.ts'
import { framingOf, type Framing } from './headers.ts'
import { reach } from './reach.ts'
import type { Reason } from './reasons.ts'
import { wantedByRequest } from './request-target.ts'

/** `GET http://host/path`: judged, sent on, answered. */
export async function handleRequest(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
  expects?: 'continue' | 'unknown',
): Promise<void> {
  const { rules, limits, surroundings, owner, exchanges, connections } = desk
  const exchange = exchanges.begin(request.method)
  const wanted = wantedByRequest(request)
  const framing = framingOf(request)
  if (wanted.target !== undefined) exchange.wants(wanted.target)
  const say = (reason: Reason): void => answerRequest(response, answerFor(reason, wanted.target, owner))

  const problem = desk.obstacle(request) ?? wanted.problem ?? framingProblem(framing)
  if (problem !== undefined || wanted.path === undefined || expects === 'unknown') {
    const reason = problem ?? 'unknown_expectation'
    exchange.end('refused', reason)
    return say(reason)
  }

  let gone = false
  const done = connections.add(request.socket, () => (gone = true))
  const reached = await reach(wanted.target, rules, surroundings, limits.connect_ms)
  done()
  if (reached.kind !== 'connected') {
    exchange.end(reached.kind, reached.reason)
    return say(reached.reason)
  }
  const { socket: upstream, address } = reached
  exchange.reaches(address, upstream)
  if (gone) {
    upstream.destroy()
    return exchange.end('allowed', 'client_gone')
  }

  let failure: Reason | undefined
  const fail = (reason: Reason): void => {
    failure ??= reason
    if (!response.headersSent) say(reason)
  }
  const outgoing = forward({ ...wanted, request, response, framing, upstream, limits, fail })
  const end = (): void => {
    over()
    exchange.end(...outcome(failure, response))
    outgoing.destroy()
  }
  const over = connections.add(request.socket, end)
  response.on('close', end)
  if (expects === 'continue') response.writeContinue()
}

function outcome(failure: Reason | undefined, response: ServerResponse): [LogEntry['verdict'], LogEntry['reason']] {
  if (failure !== undefined) return ['failed', failure]
  return ['allowed', response.writableFinished ? null : 'client_gone']
}

function framingProblem({ kind }: Framing): Reason | undefined {
  if (kind === 'wrong') return 'framing'
  return kind === 'unknown' ? 'unknown_framing' : undefined
}
