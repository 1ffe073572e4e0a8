import { AwError } from '../../src/domain/errors.ts'
import type { CallContext, Manager } from '../../src/ports/manager.ts'
import type { CommandInput } from '../../src/ports/sandbox-driver.ts'
import { makeAw, type Aw } from '../../src/client/facade.ts'

export interface Asked {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly context: CallContext | undefined
}

type Answer = (input: never, context: CallContext) => unknown

/** The SDK over a core that answers as it is told, by operation, and remembers what it was asked. */
export function scripted(answers: Readonly<Record<string, Answer>>): { readonly aw: Aw; readonly asked: Asked[] } {
  const asked: Asked[] = []
  const answer = (name: string, input: unknown, context: CallContext | undefined): unknown => {
    asked.push({ name, input: input as Asked['input'], context })
    if (name === 'show') return { id: 'ws_1', workspace_id: 'x/main', sandbox: null }
    return answers[name]?.(input as never, context ?? {})
  }
  const manager = {
    call: async (name: string, input: unknown, context?: CallContext) => answer(name, input, context),
    async *stream(name: string, input: unknown, context?: CallContext) {
      yield* answer(name, input, context) as AsyncIterable<unknown>
    },
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as Manager
  return { aw: makeAw(manager), asked }
}

export const item = {
  started: (workspace = 'x/main') => ({ type: 'started', workspace, command: 'cmd_1', isolation: 'namespace' }),
  out: (text: string, workspace = 'x/main') => ({ type: 'stdout', workspace, data: Buffer.from(text) }),
  err: (text: string, workspace = 'x/main') => ({ type: 'stderr', workspace, data: Buffer.from(text) }),
  exit: (more: object = {}) => ({
    type: 'exit',
    workspace: 'x/main',
    command: 'cmd_1',
    code: 0,
    signal: null,
    duration_ms: 5,
    peak_memory_bytes: 1024,
    cpu_ms: 2,
    timed_out: false,
    output_cut: false,
    snapshot: null,
    ...more,
  }),
}

/** What a command is given, until its `end` or a signal. */
export async function* given({ input, signal }: CallContext): AsyncGenerator<CommandInput> {
  const source = input?.[Symbol.asyncIterator]()
  const aborted = new Promise<undefined>((resolve) => {
    if (signal?.aborted === true) resolve(undefined)
    signal?.addEventListener('abort', () => resolve(undefined))
  })
  for (;;) {
    const next = await Promise.race([source?.next(), aborted])
    if (next === undefined || next.done === true) return
    yield next.value
  }
}

/**
 * A command that writes what it reads, and on the other side what else it is given. Its input's end ends it, or a signal,
 * unless it ignores them; a caller that cancels it is told `aborted`.
 */
export const echo = (ignores: readonly string[] = []) =>
  async function* answer(_: unknown, context: CallContext): AsyncGenerator<object> {
    yield item.started()
    let end = item.exit({ code: null, signal: 'SIGKILL' })
    let isStopped = true
    for await (const piece of given(context)) {
      if (piece.kind === 'data') yield item.out(Buffer.from(piece.data).toString())
      else yield item.err(`${JSON.stringify(piece)}\n`)
      const name = piece.kind === 'signal' ? piece.signal : piece.kind
      if (piece.kind === 'data' || piece.kind === 'resize' || ignores.includes(name)) continue
      end = piece.kind === 'end' ? item.exit() : item.exit({ code: null, signal: name })
      isStopped = false
      break
    }
    if (isStopped && context.signal?.aborted === true) throw new AwError('aborted', 'The command was cancelled')
    yield end
  }
