import { request as httpRequest, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { Framing } from './headers.ts'
import type { ProxyLimits } from './limits.ts'
import type { Reason } from './reasons.ts'

export interface Forwarded {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  readonly framing: Framing
  /** What is sent with it. */
  readonly headers: readonly string[]
  /** What of an answer's are passed back. */
  readonly back: (answer: IncomingMessage) => readonly string[]
  readonly upstream: Socket
  readonly limits: ProxyLimits
  /** Called once or more: the answer was not whole. */
  readonly fail: (reason: Reason) => void
}

/**
 * Sends one request over a connection of its own, and its answer back. The body is read and written anew, with the
 * framing that it was understood by, so that nobody behind us can see another request in it.
 */
export function forward({
  request,
  response,
  path,
  framing,
  headers,
  back,
  upstream,
  limits,
  fail,
}: Forwarded): ClientRequest {
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: request.method,
    path,
    headers,
    insecureHTTPParser: false,
    maxHeaderSize: limits.header_bytes,
  })
  upstream.setTimeout(limits.idle_ms, () => upstream.destroy())
  outgoing.on('error', (error) => fail(isParserError(error) ? 'bad_answer' : 'upstream_closed'))
  outgoing.on('response', (answer) => {
    answer.on('error', () => fail('upstream_closed'))
    // An answer that breaks off must not look like one that is whole: the client's connection breaks off too.
    if (passHead(request, response, answer, back(answer))) pipeline(answer, response, () => undefined)
    else outgoing.destroy(parserError())
  })
  // Half a body must not look like a whole one.
  request.on('close', () => request.complete || outgoing.destroy())
  if (framing.kind === 'none') outgoing.end()
  else request.pipe(outgoing)
  return outgoing
}

/** False for a head that Node will not write: a status that is none. */
function passHead(
  request: IncomingMessage,
  response: ServerResponse,
  answer: IncomingMessage,
  headers: readonly string[],
): boolean {
  try {
    response.sendDate = false
    // The rest of a body that nobody waited for would be taken for the next request.
    const last = request.complete ? [] : ['Connection', 'close']
    response.writeHead(answer.statusCode ?? 0, [...headers, ...last])
    // The body may be long in coming.
    response.flushHeaders()
    return true
  } catch {
    return false
  }
}

const isParserError = (error: Error): boolean => 'code' in error && String(error.code).startsWith('HPE_')

const parserError = (): Error => Object.assign(new Error('No such status'), { code: 'HPE_INVALID_STATUS' })
