import { WebSocket, type ClientOptions } from 'ws'
import type { Operation } from '../../api/operation.ts'
import { AwError } from '../../domain/errors.ts'
import { asyncQueue } from '../../domain/async-queue.ts'
import type { CallContext } from '../../ports/manager.ts'
import { requestFor } from './request.ts'
import { withBytes } from './bytes.ts'
import { errorOf, itemOf, type Problem } from './problem.ts'
import { dial, type Address } from './wire.ts'

interface Target {
  readonly address: Address
  readonly headers: Readonly<Record<string, string>>
}

/** How long the daemon may take to end what was cancelled. */
const timeoutMs = 60_000

/** A stream that is also given something while it goes on: a command with its standard input, a port. */
export async function* socketStream(
  target: Target,
  operation: Operation,
  input: object,
  { signal, input: given }: CallContext,
): AsyncGenerator<object> {
  if (signal?.aborted) throw new AwError('aborted', 'The caller cancelled this', { cause: signal.reason })
  const { path, body = '{}' } = requestFor(operation, input as Record<string, unknown>)
  const socket = new WebSocket(`ws://${target.headers['host']}${path}`, optionsOf(target))
  const inbox = inboxOf(socket)
  const cancel = (): void => tell(socket, { cancel: true })
  let isOver = false
  try {
    await opened(socket)
    socket.send(body as string)
    signal?.addEventListener('abort', cancel, { once: true })
    if (signal?.aborted) cancel()
    void feed(socket, given)
    for (let text = await inbox.next(); text !== undefined; text = await inbox.next()) {
      yield withBytes(operation.output, itemOf(text)) as object
    }
    isOver = true
    if (inbox.code() !== complete) throw new AwError('daemon_unavailable', 'The daemon broke the stream off')
  } finally {
    signal?.removeEventListener('abort', cancel)
    // What was left is waited for: after it, nothing of it goes on.
    if (!isOver) await ended(socket, inbox)
    socket.terminate()
  }
}

const complete = 1000

/** Whatever the path of the socket is called: an address that holds it would have to be taken apart again. */
const optionsOf = ({ address, headers }: Target): ClientOptions => ({
  headers,
  perMessageDeflate: false,
  maxPayload: 16 * 1024 * 1024,
  handshakeTimeout: 10_000,
  createConnection: () => dial(address),
})

async function ended(socket: WebSocket, inbox: Inbox): Promise<void> {
  tell(socket, { cancel: true })
  const late = setTimeout(() => socket.terminate(), timeoutMs)
  while ((await inbox.next()) !== undefined);
  clearTimeout(late)
}

async function feed(socket: WebSocket, given: CallContext['input']): Promise<void> {
  try {
    for await (const item of given ?? []) {
      if (socket.readyState !== WebSocket.OPEN) return
      const message = item.kind === 'data' ? item.data : JSON.stringify(item)
      await new Promise<void>((resolve) => socket.send(message, () => resolve()))
    }
    tell(socket, { kind: 'end' })
  } catch {
    tell(socket, { cancel: true })
  }
}

function tell(socket: WebSocket, message: object): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('unexpected-response', (_, response) => {
      let text = ''
      response.on('data', (part: Buffer) => (text += part.toString('utf8')))
      response.on('end', () => reject(refusal(text)))
    })
    socket.once('error', (cause) =>
      reject(new AwError('daemon_unavailable', `The daemon does not answer: ${cause.message}`, { cause })),
    )
  })
}

function refusal(text: string): AwError {
  try {
    return errorOf(JSON.parse(text) as Problem)
  } catch {
    return new AwError('daemon_unavailable', 'The daemon refused the connection')
  }
}

interface Inbox {
  /** The next message; undefined when there are no more. */
  next(): Promise<string | undefined>
  code(): number | undefined
}

/** A reader that is slow makes the daemon wait. */
function inboxOf(socket: WebSocket): Inbox {
  const messages = asyncQueue<string>((left) => {
    if (left < 8 && socket.isPaused) socket.resume()
  })
  let closed: number | undefined
  socket.on('message', (data: Buffer) => {
    messages.put(data.toString('utf8'))
    if (messages.size > 16) socket.pause()
  })
  socket.on('error', () => undefined)
  socket.on('close', (code) => {
    closed = code
    messages.close()
  })
  return { next: () => messages.next(), code: () => closed }
}
