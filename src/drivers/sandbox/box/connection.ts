import { connect, type Socket } from 'node:net'
import { constants } from 'node:os'
import { AwError } from '../../../domain/errors.ts'
import {
  answer,
  decodeTags,
  encodeFrame,
  type Frame,
  frameReader,
  malformed,
  numberTag,
  readFailure,
  request,
} from './frames.ts'

/** A client of one supervisor: many conversations at once over one socket, each with an id of its own. */
export interface BoxConnection extends AsyncDisposable {
  /** The supervisor, as it says itself. */
  readonly pid: number
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>
  /** One request, one answer. What the box could not do is the error that `failure` makes of it. */
  ask(type: number, payload: Uint8Array, options: AskOptions): Promise<ReadonlyMap<string, readonly string[]>>
  /** Begins a conversation; `channel` is told all that comes until its last frame, or that the box is gone. */
  open(type: number, payload: Uint8Array, channel: Channel): number
  /** Ends the connection if the box does not answer in time: it is stopped, or hangs, and nobody is to wait for it. */
  check(timeoutMs: number): Promise<void>
  /** Another frame of it. Resolves when the kernel has taken it; of a conversation that is over, nothing is sent. */
  send(type: number, id: number, payload?: Uint8Array): Promise<void>
  /** Lets the process end meanwhile. False if it is over, or something is going on. */
  rest(): boolean
  /** After a rest. False if it is over. */
  wake(): boolean
}

export interface Channel {
  onFrame(frame: Frame): void
  onGone(error: AwError): void
}

export interface AskOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  readonly failure: (errno: number, text: string) => AwError
}

interface ConnectOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Connects to the socket of the box whose directory is open as `directory`: its path may be longer than a socket's. */
export async function connectBox(directory: number, options: ConnectOptions): Promise<BoxConnection> {
  const limit = AbortSignal.timeout(options.timeoutMs)
  const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal])
  const socket = connect({ path: `/proc/self/fd/${directory}/s` })
  const box = conversations(socket)
  const cancel = (): void => void socket.destroy()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const pid = await box.ready
    return { ...box.connection, pid }
  } catch (error) {
    socket.destroy()
    if (options.signal?.aborted) {
      throw new AwError('aborted', 'Connecting to the sandbox was cancelled', { cause: options.signal.reason })
    }
    if (limit.aborted) throw silent(options.timeoutMs)
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function conversations(socket: Socket): { ready: Promise<number>; connection: Omit<BoxConnection, 'pid'> } {
  const channels = new Map<number, Channel>()
  const { promise: ready, resolve: isReady, reject: neverReady } = Promise.withResolvers<number>()
  const { promise: closed, resolve: isClosed } = Promise.withResolvers<void>()
  ready.catch(() => undefined)
  let greeted = false
  let over: AwError | undefined
  let lastId = 0

  function end(error: AwError): void {
    if (over !== undefined) return
    over = error
    clearInterval(watch)
    socket.destroy()
    neverReady(error)
    for (const channel of channels.values()) channel.onGone(error)
    channels.clear()
  }

  async function check(timeoutMs: number): Promise<void> {
    // Whatever it answers, it answers.
    const failure = (_: number, text: string): AwError => new AwError('aw_command_failed', text)
    await ask(open, request.status, nothing, { timeoutMs, failure }).catch((error: AwError) => {
      if (error.code === 'timeout') end(error)
    })
  }

  const watch = setInterval(() => void (channels.size > 0 && check(silentMs)), silentMs)
  watch.unref()

  function receive(frame: Frame): void {
    if (frame.type === answer.ready) {
      const tags = decodeTags(frame.payload)
      if (tags.get('V')?.[0] !== '1') throw malformed('another version of the protocol')
      greeted = true
      return isReady(numberTag(tags, 'p'))
    }
    if (!greeted && frame.type === answer.err) throw connectionRefused(readFailure(frame.payload))
    const channel = channels.get(frame.id)
    if (channel === undefined) throw malformed('an answer that nobody waits for')
    if (lastFrames.has(frame.type)) channels.delete(frame.id)
    channel.onFrame(frame)
  }

  const read = frameReader()
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const frame of read(chunk)) receive(frame)
    } catch (error) {
      end(error instanceof AwError ? error : malformed(String(error)))
    }
  })
  socket.on('error', (error: NodeJS.ErrnoException) =>
    end(error.code === 'EAGAIN' ? tooManyConnections() : sandboxGone(error)),
  )
  socket.on('close', () => {
    end(sandboxGone())
    isClosed()
  })

  function open(type: number, payload: Uint8Array, channel: Channel): number {
    if (over !== undefined) throw over
    do lastId = (lastId + 1) % 0x1_0000_0000
    while (lastId === 0 || channels.has(lastId))
    const frame = encodeFrame(type, lastId, payload)
    channels.set(lastId, channel)
    socket.write(frame)
    return lastId
  }

  const send = async (type: number, id: number, payload?: Uint8Array): Promise<void> => {
    if (over !== undefined || !channels.has(id)) return
    const frame = encodeFrame(type, id, payload)
    // An end of the connection is told to the conversation, and need not be told here again.
    await new Promise<void>((resolve) => socket.write(frame, () => resolve()))
  }

  const connection: Omit<BoxConnection, 'pid'> = {
    closed,
    open,
    send,
    check,
    rest() {
      if (over !== undefined || channels.size > 0) return false
      socket.unref()
      return true
    },
    wake() {
      if (over !== undefined) return false
      socket.ref()
      return true
    },
    ask: (type, payload, options) => ask(open, type, payload, options),
    async [Symbol.asyncDispose]() {
      end(sandboxGone())
      await closed
    },
  }
  return { ready, connection }
}

const nothing = new Uint8Array(0)
/** So often a box with which something goes on is asked whether it is still there, and so long it may take to say so. */
const silentMs = 30_000

/** After one of these the id is free again. */
const lastFrames: ReadonlySet<number> = new Set([answer.exit, answer.ok, answer.err])

function ask(
  open: BoxConnection['open'],
  type: number,
  payload: Uint8Array,
  { timeoutMs, signal, failure }: AskOptions,
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (signal?.aborted) return Promise.reject(cancelled(signal))
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => finish(() => reject(silent(timeoutMs))), timeoutMs)
    const cancel = (): void => finish(() => signal && reject(cancelled(signal)))
    const finish = (settle: () => void): void => {
      clearTimeout(late)
      signal?.removeEventListener('abort', cancel)
      settle()
    }
    signal?.addEventListener('abort', cancel, { once: true })
    const onFrame = (frame: Frame): void => {
      if (frame.type === answer.ok) return resolve(decodeTags(frame.payload))
      if (frame.type !== answer.err) throw malformed('output to a question')
      const { errno, text } = readFailure(frame.payload)
      reject(failure(errno, text))
    }
    try {
      open(type, payload, {
        // A late answer settles nothing: the promise has been settled.
        onFrame: (frame) => finish(() => onFrame(frame)),
        onGone: (error) => finish(() => reject(error)),
      })
    } catch (error) {
      finish(() => reject(error instanceof Error ? error : new Error(String(error))))
    }
  })
}

const cancelled = (signal: AbortSignal): AwError =>
  new AwError('aborted', 'The request to the sandbox was cancelled', { cause: signal.reason })

const silent = (timeoutMs: number): AwError =>
  new AwError('timeout', `The sandbox does not answer: nothing came within ${timeoutMs} ms`, {
    hint: 'Its supervisor is stopped or hangs; aw stop ends it, and all that runs in it',
  })

/** In the place of a greeting. */
const connectionRefused = ({ errno, text }: { errno: number; text: string }): AwError =>
  errno === constants.errno.EAGAIN
    ? tooManyConnections()
    : new AwError('aw_command_failed', `The sandbox took no connection: ${text}`, { data: { errno } })

const tooManyConnections = (): AwError =>
  new AwError('limit_reached', 'The sandbox has too many connections', {
    hint: 'It takes 256 at once; wait until some of the commands and forwarded ports that use it have ended',
  })

export const sandboxGone = (cause?: unknown): AwError =>
  new AwError('sandbox_gone', 'The sandbox has ended, and what ran in it has ended with it', {
    hint: 'aw start makes a new one',
    ...(cause === undefined ? {} : { cause }),
  })
