import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError, toAwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { inputFeed } from './command-input.ts'

export interface ForwardOptions {
  /** The port of this machine; the same as inside if left out, and any free one if 0. */
  readonly localPort?: number | undefined
  /** Told of a connection that failed; the others go on. */
  readonly onError?: ((error: AwError) => void) | undefined
}

/** A port of a sandbox that programs of this machine reach. */
export interface Forward extends AsyncDisposable {
  /** At 127.0.0.1, and nowhere else. */
  readonly port: number
  /** Ends it, and the connections through it. */
  close(): Promise<void>
}

/** Listens at the loopback only. Each connection is one to the port inside. */
export async function forwardPort(
  manager: Manager,
  id: string,
  port: number,
  { localPort = port, onError = () => undefined }: ForwardOptions = {},
  context?: CallContext,
): Promise<Forward> {
  const closing = new AbortController()
  const signals = [closing.signal, context?.signal].filter((one) => one !== undefined)
  const signal = AbortSignal.any(signals)
  const open = new Set<Promise<void>>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const done = carry(manager, { id, port }, socket, { ...context, signal }).catch((error: unknown) => {
      if (!signal.aborted) onError(toAwError(error))
    })
    open.add(done)
    void done.finally(() => open.delete(done))
  })
  await listening(server, localPort)
  const close = async (): Promise<void> => {
    closing.abort(new AwError('aborted', 'The forwarding was ended'))
    await new Promise((resolve) => server.close(resolve))
    await within(Promise.all(open))
  }
  signal.addEventListener('abort', () => void close(), { once: true })
  return { port: (server.address() as { port: number }).port, close, [Symbol.asyncDispose]: close }
}

/** Both directions, each with an end of its own, until both are over or one side is gone. */
async function carry(
  manager: Manager,
  input: { readonly id: string; readonly port: number },
  socket: Socket,
  context: CallContext & { readonly signal: AbortSignal },
): Promise<void> {
  const gone = new AbortController()
  const signal = AbortSignal.any([context.signal, gone.signal])
  // Its end is not that of the other direction, which Node would take it for.
  const received = socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
  const feed = inputFeed(received, () => gone.abort())
  socket.on('error', () => gone.abort())
  socket.on('close', () => gone.abort())
  signal.addEventListener('abort', () => cut(socket), { once: true })
  try {
    for await (const { data } of manager.stream('connect', input, { ...context, signal, input: feed.items })) {
      const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data
      if (!socket.write(bytes)) await drained(socket)
    }
    feed.close()
    await left(socket)
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    feed.close()
    socket.destroy()
  }
}

/** Whoever has not been given all of it must not take what came for the whole. */
const cut = (socket: Socket): unknown => (socket.writableFinished ? socket.destroy() : socket.resetAndDestroy())

const patience = 1000

/** Closed under the hands of somebody who still writes, it would be reset, and the last that was sent be lost. */
async function left(socket: Socket): Promise<void> {
  if (socket.destroyed) return
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.end()
  socket.resume()
  await within(closed)
}

/** Waits for it, but not for long. */
async function within(what: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const late = sleep(patience, undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([what, late])
  over.abort()
}

/** Or closed, perhaps long ago. */
const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done)
      socket.off('close', done)
      resolve()
    }
    if (socket.destroyed) return done()
    socket.on('drain', done)
    socket.on('close', done)
  })

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(refused(error, port)))
    server.listen(port, '127.0.0.1', resolve)
  })
}

function refused(error: NodeJS.ErrnoException, port: number): AwError {
  if (error.code === 'EADDRINUSE')
    return new AwError('invalid_state', `Port ${port} of this machine is taken`, {
      hint: `Choose another one, as in 8080:${port}; 0:${port} takes any that is free`,
      data: { port },
      cause: error,
    })
  return toAwError(error)
}
