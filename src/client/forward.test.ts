import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { AwError } from '../domain/errors.ts'
import type { CallContext } from '../ports/manager.ts'
import { given, scripted } from '../../test/support/client.ts'

/** What listens inside: says all it heard when the other side has said its last. */
async function* whole(_: never, context: CallContext): AsyncGenerator<object> {
  let heard = ''
  for await (const piece of given(context)) {
    if (piece.kind === 'data') heard += Buffer.from(piece.data).toString()
    if (piece.kind === 'end') break
  }
  yield { data: Buffer.from(heard.toUpperCase()) }
}

async function forwarding(answer: (input: never, context: CallContext) => unknown, options: object = {}) {
  const { aw, asked } = scripted({ connect: answer })
  const workspace = await aw.get('x')
  return { asked, forward: await workspace.forward(3000, { localPort: 0, ...options }) }
}

async function everything(socket: Socket): Promise<string> {
  let seen = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) seen += String(chunk)
  return seen
}

describe('a forwarded port', () => {
  it('carries each connection, both ways, each with its end', async () => {
    const { forward, asked } = await forwarding(whole)
    await using _ = forward
    const answers = ['a', 'b'].map(async (text) => {
      const socket = connect({ port: forward.port, host: '127.0.0.1', allowHalfOpen: true })
      socket.end(text)
      return everything(socket)
    })
    expect(await Promise.all(answers)).toEqual(['A', 'B'])
    expect(asked.slice(1).map(({ input }) => input)).toEqual([
      { id: 'ws_1', port: 3000 },
      { id: 'ws_1', port: 3000 },
    ])
  })

  it('much of it, to a reader that is slow', async () => {
    const size = 20_000_000
    let made = 0
    async function* flood(): AsyncGenerator<object> {
      for (; made < size; made += 100_000) yield { data: Buffer.alloc(100_000, made % 251) }
    }
    const { forward } = await forwarding(flood)
    await using _ = forward
    const socket = connect(forward.port, '127.0.0.1').pause()
    await once(socket, 'connect')
    await new Promise((resolve) => setTimeout(resolve, 200))
    // The kernel holds some of it on both sides, and we almost nothing.
    expect(made).toBeLessThan(size)
    let read = 0
    for await (const chunk of socket) read += (chunk as Buffer).length
    expect(read).toBe(size)
  })

  it('a server that ends first does not lose its last words', async () => {
    async function* short(): AsyncGenerator<object> {
      yield { data: Buffer.from('bye') }
    }
    const { forward } = await forwarding(short)
    await using _ = forward
    const socket = connect(forward.port, '127.0.0.1')
    socket.write('x'.repeat(100_000))
    expect(await everything(socket)).toBe('bye')
  })

  it('a client that goes away ends the connection inside', async () => {
    const ended = Promise.withResolvers<string>()
    async function* waiting(_: never, { signal }: CallContext): AsyncGenerator<object> {
      yield { data: Buffer.from('hello') }
      await once(signal as AbortSignal, 'abort')
      ended.resolve('ended')
    }
    const { forward } = await forwarding(waiting)
    await using _ = forward
    const socket = connect(forward.port, '127.0.0.1')
    await once(socket, 'data')
    socket.resetAndDestroy()
    expect(await ended.promise).toBe('ended')
  })

  it('a connection that fails is told, and the next one may work', async () => {
    const errors: AwError[] = []
    let count = 0
    async function* second(input: never, context: CallContext): AsyncGenerator<object> {
      if (count++ === 0) throw new AwError('filesystem_error', 'Nobody listens there')
      yield* whole(input, context)
    }
    const { forward } = await forwarding(second, { onError: (error: AwError) => errors.push(error) })
    await using _ = forward
    expect(await everything(connect(forward.port, '127.0.0.1'))).toBe('')
    const socket = connect({ port: forward.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end('x')
    expect(await everything(socket)).toBe('X')
    expect(errors.map(({ message }) => message)).toEqual(['Nobody listens there'])
  })

  it('is at the loopback alone, and closing it ends what is open', async () => {
    const { forward } = await forwarding(whole)
    const socket = connect(forward.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => undefined)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await forward.close()
    await closed
    await forward.close()
    const [error] = (await once(connect(forward.port, '127.0.0.1'), 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNREFUSED')
  })

  it('closing it never waits: neither for a server that goes on nor for a client that does not read', async () => {
    async function* deaf(): AsyncGenerator<object> {
      for (let i = 0; i < 200; i++) yield { data: Buffer.alloc(100_000) }
      await new Promise(() => undefined)
    }
    const { forward } = await forwarding(deaf)
    const socket = connect(forward.port, '127.0.0.1').pause()
    await once(socket, 'connect')
    await forward[Symbol.asyncDispose]()
    // It must not take what came for the whole.
    const [error] = (await once(socket.resume(), 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNRESET')
  })

  it('what a client was given to its end is not taken from it by closing', async () => {
    async function* short(): AsyncGenerator<object> {
      yield { data: Buffer.from('bye') }
    }
    const { forward } = await forwarding(short)
    const socket = connect({ port: forward.port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'readable')
    await forward.close()
    expect(await everything(socket)).toBe('bye')
  })

  it('a client that has gone while much is on its way keeps nothing waiting', async () => {
    const ended = Promise.withResolvers<string>()
    async function* flood(_: never, { signal }: CallContext): AsyncGenerator<object> {
      try {
        for (;;) {
          if (signal?.aborted === true) return
          yield { data: Buffer.alloc(100_000) }
          await new Promise((resolve) => setImmediate(resolve))
        }
      } finally {
        ended.resolve('ended')
      }
    }
    const { forward } = await forwarding(flood)
    await using _ = forward
    const socket = connect(forward.port, '127.0.0.1')
    await once(socket, 'data')
    socket.destroy()
    expect(await ended.promise).toBe('ended')
  })

  it('a port that is taken is told so', async () => {
    const { forward } = await forwarding(whole)
    await using _ = forward
    const taken: unknown = expect.objectContaining({
      code: 'invalid_state',
      message: `Port ${forward.port} of this machine is taken`,
    })
    await expect(forwarding(whole, { localPort: forward.port })).rejects.toEqual(taken)
  })
})
