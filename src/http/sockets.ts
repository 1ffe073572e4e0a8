import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { AwError, toAwError } from '../domain/errors.ts'
import { asyncQueue } from '../domain/async-queue.ts'
import { readJson, type JsonLimits } from '../domain/text/strict-json.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import type { CommandInput } from '../ports/sandbox-driver.ts'
import { jsonText } from './answer.ts'
import { endWithLinger } from './limits/linger.ts'
import { abortReason, failureLine } from './lines.ts'
import { inputOf } from './input.ts'
import { problemOf, Refusal, statusOf } from './refusal.ts'
import type { Found, Query } from './routes/routes.ts'
import { traceHeaders, type Trace } from './trace.ts'
import { untilAborted } from './limits/disconnect.ts'

const maxMessage = 4 * 1024 * 1024
/** So much may have come in that nobody has asked for yet; then nothing more is taken. */
const maxWaiting = 1024 * 1024
/** How long the last words may take to be read. */
const lastWordsMs = 5_000
const firstMessageMs = 10_000

/** All that was decided before the connection became a socket. */
export interface Upgraded {
  readonly manager: Manager
  readonly found: Found
  readonly query: Query
  readonly context: CallContext
  readonly requestId: string
  readonly stop: AbortController
  readonly leave: AbortController | undefined
}

/**
 * Operations whose answer is a stream, over a WebSocket: the first message is the input as JSON, without what the path
 * says. Then binary messages are what a command reads, `{"kind":"end"}`, `{"kind":"signal","signal":"SIGINT"}` and
 * `{"kind":"resize","columns":80,"rows":24}` are as in the library, and `{"cancel":true}` stops it. Each item comes as
 * one message; after the last one, or one that holds `error` alone, the socket is closed with 1000.
 */
export function socketDoor(limits: JsonLimits) {
  const server = new WebSocketServer({ noServer: true, maxPayload: maxMessage, perMessageDeflate: false })
  // Whoever asks is told by `refuse`, and not by the library.
  server.on('wsClientError', () => undefined)
  return {
    accept(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      headers: Readonly<Record<string, string>>,
    ): WebSocket {
      let opened: WebSocket | undefined
      const tell = (lines: string[]): void => void lines.push(...linesOf(headers))
      // It answers before it returns, or never.
      server.on('headers', tell)
      server.handleUpgrade(request, socket, head, (socket) => (opened = socket))
      server.off('headers', tell)
      if (opened === undefined) throw new Refusal(400, 'invalid_input', 'This is not how a WebSocket is asked for')
      return opened
    },
    /** As an answer without a socket. Answers its status. */
    refuse(socket: Duplex, error: unknown, trace: Trace): number {
      const problem = toAwError(error)
      const body = jsonText(problemOf(problem, trace.requestId))
      const head = [
        `HTTP/1.1 ${statusOf(problem)} Refused`,
        ...linesOf(problem instanceof Refusal ? problem.headers : {}),
        ...linesOf(traceHeaders(trace)),
        'Content-Type: application/problem+json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Connection: close',
      ]
      endWithLinger(socket, `${head.join('\r\n')}\r\n\r\n${body}`)
      return statusOf(problem)
    },
    serve: (socket: WebSocket, asked: Upgraded): Promise<void> => serve(socket, asked, limits),
  }
}

const linesOf = (headers: Readonly<Record<string, string>>): string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

async function serve(socket: WebSocket, asked: Upgraded, limits: JsonLimits): Promise<void> {
  const { manager, found, query, context, requestId, stop, leave = stop } = asked
  const { operation } = found
  const inbox = inboxOf(socket, stop, operation.outlives === true, limits)
  // Whoever reads nothing would never be done with: not when its token is revoked, nor when the daemon ends.
  const end = (): void => void setTimeout(() => socket.terminate(), lastWordsMs).unref()
  const over = AbortSignal.any([stop.signal, leave.signal])
  over.addEventListener('abort', end, { once: true })
  try {
    const first = await inbox.first(firstMessageMs)
    const input = inputOf(found, query, readJson(first, limits))
    const items = manager.stream(operation.name as never, input as never, {
      ...context,
      signal: stop.signal,
      input: inbox.rest(),
    }) as AsyncIterable<object>
    for await (const item of leave === stop ? items : untilAborted(items, leave.signal)) {
      if (!(await sent(socket, jsonText(item)))) break
    }
    inbox.assertRead()
  } catch (error) {
    await sent(socket, failureLine(abortReason(error, over), requestId))
  }
  inbox.discard()
  socket.close(1000)
}

/** Resolves when it is on its way, so that nothing piles up here. */
const sent = (socket: WebSocket, text: string): Promise<boolean> =>
  new Promise((resolve) => {
    if (socket.readyState !== WebSocket.OPEN) resolve(false)
    else socket.send(text, (error) => resolve(error === undefined || error === null))
  })

function inboxOf(socket: WebSocket, stop: AbortController, outlives: boolean, limits: JsonLimits) {
  let waiting = 0
  let discards = false
  const messages = asyncQueue<string | Uint8Array>()
  const next = async (): Promise<string | Uint8Array | undefined> => {
    const message = await messages.next()
    waiting -= message?.length ?? 0
    if (waiting < maxWaiting && messages.size < 8 && socket.isPaused) socket.resume()
    return message
  }
  /** One that cannot be read is not the end of the input, which would be taken for whole. */
  let unread: AwError | undefined
  const told = (message: string): CommandInput => {
    try {
      return commandInput(readJson(message, limits))
    } catch (error) {
      unread = toAwError(error)
      stop.abort(unread)
      throw unread
    }
  }
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (!isBinary && isCancel(data)) return stop.abort(new AwError('aborted', 'The caller cancelled this'))
    if (discards) return
    const message = isBinary ? data : data.toString('utf8')
    waiting += message.length
    messages.put(message)
    if (messages.size > 16 || waiting >= maxWaiting) socket.pause()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    if (!outlives) stop.abort(new AwError('aborted', 'The caller has left'))
    messages.close()
  })
  return {
    /** Takes what still comes and throws it away: the other side's close frame is behind it. */
    discard(): void {
      discards = true
      socket.resume()
    },
    assertRead(): void {
      if (unread !== undefined) throw unread
    },
    async first(ms: number): Promise<string> {
      const late = setTimeout(() => socket.terminate(), ms)
      const message = await next()
      clearTimeout(late)
      if (typeof message === 'string') return message
      throw new AwError('invalid_input', 'The first message must be the input, as JSON')
    },
    async *rest(): AsyncGenerator<CommandInput> {
      for (let message = await next(); message !== undefined; message = await next()) {
        yield typeof message === 'string' ? told(message) : { kind: 'data', data: message }
      }
    },
  }
}

const isCancel = (data: Buffer): boolean =>
  data.length < 40 && /^\s*\{\s*"cancel"\s*:\s*true\s*\}\s*$/.test(data.toString('utf8'))

function commandInput(value: unknown): CommandInput {
  const { kind, signal, columns, rows } = (value ?? {}) as Record<string, unknown>
  if (kind === 'end') return { kind }
  if (kind === 'signal' && typeof signal === 'string') return { kind, signal }
  if (kind === 'resize' && isSize(columns) && isSize(rows)) return { kind, columns, rows }
  throw new AwError('invalid_input', 'A message is bytes, or one of end, signal, resize and cancel')
}

const isSize = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 1000
