import { connect, type Socket } from 'node:net'
import { AwError } from '../../domain/errors.ts'
import { errorOf, type Problem } from './problem.ts'

/** Where a daemon listens: a socket of this machine, or a port of its loopback. */
export type Address = { readonly socket: string } | { readonly host: string; readonly port: number }

export interface WireRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Whole, or piece by piece. */
  readonly body?: Uint8Array | string | AsyncIterable<Uint8Array> | undefined
}

export interface Reply {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  /** To be read to its end, or left: then the connection is given up, and the daemon stops what it does. */
  readonly body: AsyncGenerator<Buffer>
}

export interface Wire extends Disposable {
  /** Resolves with the head of the answer. The signal breaks the connection. */
  send(request: WireRequest, signal?: AbortSignal): Promise<Reply>
}

export const dial = (address: Address): Socket =>
  connect('socket' in address ? { path: address.socket } : { ...address, noDelay: true })

const idleMs = 20_000
const maxHead = 64 * 1024

/**
 * As much of HTTP/1.1 as the daemon speaks, over plain sockets that are used again. Node's own client takes twice as long
 * to load, which a command that does one small thing would feel.
 */
export function wire(address: Address, shortLived = false): Wire {
  const idle: { line: Line; timer: NodeJS.Timeout }[] = []
  const open = new Set<Line>()

  function take(): Line {
    const kept = idle.pop()
    if (kept !== undefined) {
      clearTimeout(kept.timer)
      kept.line.socket.ref()
      return kept.line
    }
    const line = lineOf(dial(address))
    open.add(line)
    line.socket.once('close', () => {
      open.delete(line)
      const at = idle.findIndex((one) => one.line === line)
      if (at !== -1) clearTimeout(idle.splice(at, 1)[0]?.timer)
    })
    return line
  }

  function giveBack(line: Line): void {
    if (line.socket.destroyed) return
    const timer = setTimeout(() => line.socket.destroy(), idleMs)
    timer.unref()
    // An idle connection keeps no program from ending.
    line.socket.unref()
    idle.push({ line, timer })
  }

  return {
    async send(request, signal) {
      signal?.throwIfAborted()
      const line = take()
      const stop = (): void => void line.socket.destroy()
      signal?.addEventListener('abort', stop, { once: true })
      try {
        const sending = write(line.socket, request)
        // What the daemon says counts, also if it has not read all: then writing fails.
        sending.catch(() => undefined)
        const head = await readHead(line)
        const done = (): void => {
          signal?.removeEventListener('abort', stop)
          if (head.headers.get('connection') === 'close') line.socket.destroy()
          else giveBack(line)
        }
        return { ...head, body: bodyOf(line, head.headers, done) }
      } catch (error) {
        const isSent = line.isConnected()
        line.socket.destroy()
        signal?.throwIfAborted()
        throw unavailable(error, isSent)
      }
    },
    [Symbol.dispose]() {
      for (const { socket } of open) {
        if (shortLived) socket.unref()
        else socket.destroy()
      }
    },
  }
}

/** A connection with what has come and was not used yet. */
interface Line {
  readonly socket: Socket
  /** Whether somebody has ever heard us: what waits to be written is counted as written by node. */
  readonly isConnected: () => boolean
  /** The next piece; undefined at the end. */
  readonly next: () => Promise<Buffer | undefined>
  readonly unread: (piece: Buffer) => void
}

function lineOf(socket: Socket): Line {
  const pieces = socket.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>
  let kept: Buffer | undefined
  let isConnected = false
  socket.once('connect', () => (isConnected = true))
  return {
    socket,
    isConnected: () => isConnected,
    async next() {
      const piece = kept
      kept = undefined
      if (piece !== undefined) return piece
      const next: IteratorResult<Buffer, undefined> = await pieces.next()
      return next.value
    },
    unread(piece) {
      if (piece.length > 0) kept = piece
    },
  }
}

async function write(socket: Socket, { method, path, headers, body }: WireRequest): Promise<void> {
  const isWhole = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const bytes = typeof body === 'string' ? Buffer.from(body) : isWhole ? body : undefined
  const length = isWhole ? { 'content-length': String(bytes?.length ?? 0) } : { 'transfer-encoding': 'chunked' }
  const lines = Object.entries({ ...headers, ...(method === 'GET' ? {} : length) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.cork()
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  if (bytes !== undefined) socket.write(bytes)
  socket.uncork()
  if (isWhole) return
  for await (const piece of body) {
    if (socket.destroyed) return
    if (piece.length === 0) continue
    socket.write(`${piece.length.toString(16)}\r\n`)
    socket.write(piece)
    if (!socket.write('\r\n')) await drained(socket)
  }
  socket.write('0\r\n\r\n')
}

const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.on('drain', done).on('close', done)
  })

async function readHead(line: Line): Promise<Omit<Reply, 'body'>> {
  let all = Buffer.alloc(0)
  for (;;) {
    const end = all.indexOf('\r\n\r\n')
    if (end !== -1) {
      line.unread(all.subarray(end + 4))
      return headOf(all.subarray(0, end).toString('latin1'))
    }
    const piece = all.length > maxHead ? undefined : await line.next()
    if (piece === undefined) throw new Error('the connection was closed')
    all = Buffer.concat([all, piece])
  }
}

function headOf(text: string): Omit<Reply, 'body'> {
  const [first = '', ...rest] = text.split('\r\n')
  const headers = new Map<string, string>()
  for (const line of rest) {
    const at = line.indexOf(':')
    headers.set(line.slice(0, at).toLowerCase(), line.slice(at + 1).trim())
  }
  return { status: Number(first.split(' ')[1]), headers }
}

async function* bodyOf(line: Line, headers: ReadonlyMap<string, string>, done: () => void): AsyncGenerator<Buffer> {
  let isWhole = false
  try {
    if (headers.get('transfer-encoding') === 'chunked') yield* chunks(line)
    else yield* exactly(line, Number(headers.get('content-length') ?? 0))
    isWhole = true
  } catch (error) {
    throw unavailable(error)
  } finally {
    if (isWhole) done()
    else line.socket.destroy()
  }
}

async function* exactly(line: Line, length: number): AsyncGenerator<Buffer> {
  for (let left = length; left > 0;) {
    const piece = await line.next()
    if (piece === undefined) throw new Error('the answer was broken off')
    line.unread(piece.subarray(left))
    const part = piece.subarray(0, left)
    left -= part.length
    yield part
  }
}

async function* chunks(line: Line): AsyncGenerator<Buffer> {
  for (;;) {
    const size = Number.parseInt(await textLine(line), 16)
    if (Number.isNaN(size)) throw new Error('the answer is not well formed')
    yield* exactly(line, size)
    await textLine(line)
    if (size === 0) return
  }
}

async function textLine(line: Line): Promise<string> {
  let all = Buffer.alloc(0)
  for (;;) {
    const end = all.indexOf('\r\n')
    if (end !== -1) {
      line.unread(all.subarray(end + 2))
      return all.subarray(0, end).toString('latin1')
    }
    const piece = await line.next()
    if (piece === undefined) throw new Error('the answer was broken off')
    all = Buffer.concat([all, piece])
  }
}

/** All of an answer at once. */
export async function readBody({ body }: Reply): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of body) parts.push(part)
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

/** Its value, or the error that it is. */
export async function jsonOf(reply: Reply): Promise<unknown> {
  const text = (await readBody(reply)).toString('utf8')
  const value: unknown = text === '' ? undefined : JSON.parse(text)
  if (reply.status < 300) return value
  throw errorOf(value as Problem)
}

/** `sent: false`: the daemon has heard nothing of it. */
const unavailable = (cause: unknown, sent = true): AwError =>
  new AwError(
    'daemon_unavailable',
    `The daemon does not answer: ${cause instanceof Error ? cause.message : String(cause)}`,
    { hint: 'See whether it runs: aw serve --status', data: { sent }, cause },
  )
