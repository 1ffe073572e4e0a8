import type { Operation } from '../../api/operation.ts'
import { operations } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { CallContext, Manager, Progress } from '../../ports/manager.ts'
import { requestFor } from './request.ts'
import { withBytes } from './bytes.ts'
import { errorOf, itemOf, type Problem } from './problem.ts'
import { jsonOf, readBody, wire, type Address, type Reply, type Wire, type WireRequest } from './wire.ts'

export interface RemoteOptions {
  readonly address: Address
  readonly token?: string | undefined
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * The program ends when this is closed, and its connections end with it. To close one, Node opens the program's standard
   * error, which takes 2 ms.
   */
  readonly shortLived?: boolean | undefined
  /** What gives a command its input while it runs; whoever never does needs none, and does not load it. */
  readonly sockets?: (() => Promise<{ readonly socketStream: SocketStream }>) | undefined
}

/** A line of an answer that tells how far it has come. */
interface News {
  readonly progress?: Progress & { readonly output?: string }
  readonly result?: unknown
  readonly error?: Problem
}

type SocketStream = typeof import('./socket.ts').socketStream

const lines = 'application/x-ndjson'
/** How long the daemon may take to undo what was cancelled. */
const timeoutMs = 60_000

/**
 * The core behind a daemon. Answers, errors and cancelling are those of the core itself: a call that is cancelled is
 * waited for, so that its caller knows whether it was undone.
 */
export function remoteManager(options: RemoteOptions): Manager {
  const line = wire(options.address, options.shortLived)
  const own = headersOf(options)
  let count = 0
  // Two clients of one moment are two. It is no secret: nobody stops what another has asked for.
  const prefix = `${process.pid}-${Math.random().toString(36).slice(2)}`
  const newId = (): string => `${prefix}-${++count}`
  // What was subscribed to before a call is seen, though requests overtake each other.
  const opening = new Set<Promise<unknown>>()

  const request = (operation: Operation, input: object, context: CallContext, id: string): WireRequest => {
    const { type, ...rest } = requestFor(operation, input as Record<string, unknown>)
    const isBytes = operation.takes === 'bytes' && context.input !== undefined
    return {
      ...rest,
      ...(isBytes && { body: pieces(context.input, (error) => failed(id, error)) }),
      headers: {
        ...own,
        ...contextHeaders(context),
        'x-request-id': id,
        ...(type !== undefined && { 'content-type': type }),
        ...(isBytes && { 'content-type': 'application/octet-stream' }),
      },
    }
  }

  // What broke off on our side is told to our caller; the daemon is told to undo it.
  const failures = new Map<string, unknown>()
  const failed = (id: string, error: unknown): void => {
    failures.set(id, error)
    void cancelRequest(line, own, id)
  }

  /** Tells the daemon to stop it. What it then answers is the answer. */
  function cancelling(id: string, signal: AbortSignal | undefined): Disposable & { readonly late: AbortSignal } {
    const late = new AbortController()
    const cancel = (): void => {
      setTimeout(() => late.abort(), timeoutMs).unref()
      void cancelRequest(line, own, id)
    }
    signal?.addEventListener('abort', cancel, { once: true })
    return { late: late.signal, [Symbol.dispose]: () => signal?.removeEventListener('abort', cancel) }
  }

  async function call(name: string, input: object, context: CallContext = {}): Promise<unknown> {
    const operation = entryOf(name)
    assertGoing(context.signal)
    await Promise.allSettled(opening)
    const id = newId()
    using cancel = cancelling(id, context.signal)
    const asked = request(operation, input, context, id)
    if (context.onProgress !== undefined && operation.form !== 'bytes')
      return withBytes(operation.output, await withProgress(asked, context.onProgress, cancel.late))
    const reply = await line.send(asked, cancel.late)
    if (failures.has(id)) {
      const failure = failures.get(id)
      failures.delete(id)
      await readBody(reply)
      throw failure
    }
    if (operation.form === 'bytes' && reply.status < 300) return await readBody(reply)
    const first = await jsonOf(reply)
    return withBytes(operation.output, Array.isArray(first) ? await allPages(first, reply, asked, cancel.late) : first)
  }

  async function allPages(first: unknown[], reply: Reply, asked: WireRequest, signal: AbortSignal): Promise<unknown[]> {
    const all = first
    for (let at = reply; ;) {
      const next = /<([^>]+)>; rel="next"/.exec(at.headers.get('link') ?? '')?.[1]
      if (next === undefined || limitIn(asked.path) === all.length) return all
      at = await line.send({ ...asked, path: next }, signal)
      all.push(...((await jsonOf(at)) as unknown[]))
    }
  }

  async function withProgress(asked: WireRequest, tell: (progress: Progress) => void, signal: AbortSignal) {
    const reply = await line.send({ ...asked, headers: { ...asked.headers, accept: lines } }, signal)
    if (reply.status >= 300) return jsonOf(reply)
    let answer: News | undefined
    try {
      // To its end, though the answer is the last line: then the connection can be used again.
      for await (const text of linesOf(reply)) {
        const news = JSON.parse(text) as News
        if (news.progress === undefined) {
          answer = news
          continue
        }
        const { output, ...rest } = news.progress
        tell(output === undefined ? rest : { ...rest, output: Buffer.from(output as unknown as string, 'base64') })
      }
    } catch (error) {
      if (answer === undefined) throw error
    }
    if (answer === undefined) throw new AwError('daemon_unavailable', 'The daemon broke its answer off')
    if (answer.error !== undefined) throw errorOf(answer.error)
    return answer.result
  }

  async function* stream(
    name: string,
    input: object,
    context: CallContext,
    opened: Promise<Reply> | undefined,
    id: string,
  ) {
    const operation = entryOf(name)
    if (operation.takes === 'input' && context.input !== undefined) {
      if (options.sockets === undefined) throw new AwError('unsupported', `${name} cannot be given input from here`)
      const { socketStream } = await options.sockets()
      const headers = { ...own, ...contextHeaders(context), 'x-request-id': id }
      yield* socketStream({ address: options.address, headers }, operation, input, context)
      return
    }
    assertGoing(name === 'events' ? undefined : context.signal)
    using cancel = cancelling(id, context.signal)
    const reply = await (opened ?? line.send(request(operation, input, context, id), cancel.late))
    if (reply.status >= 300) await jsonOf(reply)
    if (operation.gives === 'bytes') {
      yield* downloaded(reply, input, context.signal)
      return
    }
    const items = linesOf(reply)
    let isOver = false
    try {
      for await (const text of items) {
        yield withBytes(operation.output, itemOf(text))
      }
      isOver = true
    } finally {
      if (!isOver && operation.outlives !== true) await cancelRequest(line, own, id)
    }
  }

  return {
    call: call as Manager['call'],
    stream(name, input, context = {}) {
      const id = newId()
      // Where the log is followed from is settled now, and not by the first read.
      const isNow = name === 'events' && context.signal?.aborted !== true
      const opened = isNow ? line.send(request(entryOf(name), input, context, id)) : undefined
      if (opened !== undefined) {
        const settled = opened.catch(() => undefined).finally(() => opening.delete(settled))
        opening.add(settled)
      }
      return stream(name, input, context, opened, id) as never
    },
    async [Symbol.asyncDispose]() {
      line[Symbol.dispose]()
    },
  }
}

function entryOf(name: string): Operation {
  const entry = operations.find((one) => one.name === name)
  if (entry === undefined) throw new AwError('unsupported', `There is no operation ${name}`)
  return entry
}

function assertGoing(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AwError('aborted', 'The caller cancelled this', { cause: signal.reason })
}

const headersOf = ({ address, token, headers }: RemoteOptions): Record<string, string> => ({
  host:
    'socket' in address
      ? 'localhost'
      : `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`,
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
  ...headers,
})

function contextHeaders({ actor, correlationId, causationId, lease }: CallContext): Record<string, string> {
  const given = {
    'aw-actor': actor,
    'aw-correlation-id': correlationId,
    'aw-causation-id': causationId,
    'aw-lease': lease,
  }
  const set = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(set.map(([name, value]) => [name, encodeURIComponent(value)]))
}

/** That there is nothing to stop any more is no error. */
async function cancelRequest(line: Wire, headers: Record<string, string>, id: string): Promise<void> {
  try {
    await readBody(await line.send({ method: 'DELETE', path: `/api/requests/${id}`, headers }))
  } catch {
    // The daemon is gone, and with it the request.
  }
}

/** One that fails never ends: an end would say that it is whole. */
async function* pieces(input: CallContext['input'], failed: (error: unknown) => void): AsyncGenerator<Uint8Array> {
  try {
    for await (const item of input ?? []) if (item.kind === 'data') yield item.data
  } catch (error) {
    failed(error)
    await new Promise(() => undefined)
  }
}

/** The bytes of a file come as they are; what else an item tells is in the head. */
async function* downloaded({ headers, body }: Reply, { offset: from = 0 }: { offset?: number }, signal?: AbortSignal) {
  const facts = { size: Number(headers.get('aw-file-size')), mtime: headers.get('aw-file-mtime') ?? '' }
  let offset = from
  let isFirst = true
  try {
    for await (const data of body) {
      assertGoing(signal)
      yield { ...facts, offset, data }
      assertGoing(signal)
      offset += data.length
      isFirst = false
    }
  } catch (error) {
    assertGoing(signal)
    throw error
  }
  if (isFirst) yield { ...facts, offset, data: Buffer.alloc(0) }
}

async function* linesOf({ body }: Reply): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const part of body) {
    let all = rest.length === 0 ? part : Buffer.concat([rest, part])
    for (let end = all.indexOf(10); end !== -1; end = all.indexOf(10)) {
      yield all.subarray(0, end).toString('utf8')
      all = all.subarray(end + 1)
    }
    rest = all
  }
}

const limitIn = (path: string): number => Number(new URLSearchParams(path.split('?')[1]).get('limit') ?? Number.NaN)
