import { constants } from 'node:os'
import { AwError } from '../../../domain/errors.ts'
import type { Connection } from '../../../ports/sandbox-driver.ts'
import type { BoxConnection } from './connection.ts'
import { answer, encodeTags, type Frame, malformed, readFailure, readUint32, request, uint32 } from './frames.ts'
import { incoming } from './output.ts'
import { credits, inputWindow } from './flow-control.ts'

interface StreamOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** A connection to a port of the box's own loopback. Resolves when something inside has accepted it. */
export async function openStream(box: BoxConnection, port: number, options: StreamOptions): Promise<Connection> {
  const { timeoutMs, signal } = options
  if (signal?.aborted) throw cancelled(signal)
  const { promise: connected, resolve: isConnected, reject } = Promise.withResolvers<void>()
  const { promise: ended, resolve: isEnded } = Promise.withResolvers<void>()
  const credit = credits((bytes) => void box.send(request.credit, id, uint32(bytes)))
  const received = incoming<Uint8Array>(credit.read)
  const window = inputWindow()
  const finish = (error?: AwError): void => {
    window.close()
    received.end(error)
    if (error !== undefined) reject(error)
    isEnded()
  }
  const onFrame = ({ type, payload }: Frame): void => {
    if (type === answer.started) isConnected()
    else if (type === answer.stdout) {
      credit.arrived(payload.length)
      received.push(payload, payload.length)
    } else if (type === answer.taken) window.taken(readUint32(payload))
    else if (type === answer.exit) finish()
    else if (type === answer.err) finish(refused(port, readFailure(payload)))
    else throw malformed('an answer that fits no connection')
  }
  const tags = encodeTags([
    ['n', port],
    ['c', credit.first],
  ])
  const id = box.open(request.connect, tags, { onFrame, onGone: finish })
  const letGo = (): void => void box.send(request.signal, id, uint32(constants.signals.SIGKILL))

  const cancel = (): void => signal && reject(cancelled(signal))
  const late = setTimeout(() => reject(new AwError('timeout', `Port ${port} did not answer`)), timeoutMs)
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    await connected
  } catch (error) {
    letGo()
    throw error
  } finally {
    clearTimeout(late)
    signal?.removeEventListener('abort', cancel)
  }

  return {
    received: received.items,
    async send(data) {
      for (let done = 0; done < data.length;) {
        const part = data.subarray(done, done + (await window.room(data.length - done)))
        if (part.length === 0) throw new AwError('sandbox_gone', `The connection to port ${port} has ended`)
        await box.send(request.stdin, id, part)
        done += part.length
      }
    },
    end: () => box.send(request.eof, id),
    async [Symbol.asyncDispose]() {
      if (window.isClosed()) return
      letGo()
      window.close()
      received.end()
      await Promise.race([ended, box.closed])
    },
  }
}

function refused(port: number, { errno, text }: { errno: number; text: string }): AwError {
  if (errno === constants.errno.ECONNREFUSED) {
    return new AwError('file_not_found', `Nothing in the sandbox listens on port ${port} at its loopback`, {
      hint: 'Start the server inside first; it must listen on 127.0.0.1 or on all addresses',
      data: { port },
    })
  }
  return new AwError('aw_command_failed', `Port ${port} of the sandbox cannot be reached: ${text}`, {
    data: { port, errno },
  })
}

const cancelled = (signal: AbortSignal): AwError =>
  new AwError('aborted', 'The connection was cancelled', { cause: signal.reason })
