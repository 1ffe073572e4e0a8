import { parse } from '../api/parse.ts'
import { operations, type Inputs, type OperationName, type Outputs, type StreamName, type Table } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { workspaceHandle, type Workspace } from './workspace.ts'

/**
 * The SDK: a method for each operation of the table, over whatever implements the `Manager` port. Words of an operation
 * become a path of methods (`fs read` is `aw.fs.read`); its first positional field is the first argument; everything
 * else is one object. Answers that are workspaces come as handles.
 */
export type Aw = Derived & AwExtras & AsyncDisposable

interface AwExtras {
  /** Makes a workspace. */
  create(input?: Inputs['create'], context?: CallContext): Promise<Workspace>
  /** The live workspace with this name, or any by its id. */
  get(id: string, context?: CallContext): Promise<Workspace>
  list(filter?: Inputs['list'], context?: CallContext): Promise<Workspace[]>
  ensure(id: string, input?: Omit<Inputs['ensure'], 'id'>, context?: CallContext): Promise<Workspace>
  rename(id: string, input: Omit<Inputs['rename'], 'id'>, context?: CallContext): Promise<Workspace>
  reset(id: string, input?: Omit<Inputs['reset'], 'id'>, context?: CallContext): Promise<Workspace>
  undelete(id: string, input?: Omit<Inputs['undelete'], 'id'>, context?: CallContext): Promise<Workspace>
  /** S5.4: destroy that does not mind if there is nothing; `false` the second time. */
  cleanup(id: string, context?: CallContext): Promise<boolean>
  /** What happened so far, oldest first. */
  events(filter?: Omit<Inputs['events'], 'follow'>, context?: CallContext): AsyncIterable<Outputs['events']>
  /** What happens from now on, until the loop is left or the signal fires. */
  subscribe(
    filter?: Omit<Inputs['events'], 'follow' | 'limit'>,
    context?: CallContext,
  ): AsyncIterable<Outputs['events']>
  /** The same operation on many; one that fails does not keep the others from being done. */
  each<N extends BatchName>(
    name: N,
    ids: readonly string[],
    input?: Omit<Inputs[N], 'id'>,
    context?: CallContext,
  ): Promise<ItemResult<Outputs[N]>[]>
  readonly manager: Manager
}

export type ItemResult<T> = { id: string; ok: true; result: T } | { id: string; ok: false; error: AwError }

type BatchName = Extract<(typeof operations)[number], { batch: true }>['name']

type CallName = Exclude<OperationName, StreamName>
type Entry<N> = Extract<(typeof operations)[number], { name: N }>
type First<N> = Entry<N> extends { positional: readonly [infer P extends string, ...unknown[]] } ? P : never
type Rest<N extends CallName> = Omit<Inputs[N], First<N>>
type AllOptional<T> = Record<string, never> extends T ? true : Partial<T> extends T ? true : false
type Method<N extends CallName> =
  'id' extends First<N>
    ? AllOptional<Rest<N>> extends true
      ? (id: string, input?: Rest<N>, context?: CallContext) => Promise<Outputs[N]>
      : (id: string, input: Rest<N>, context?: CallContext) => Promise<Outputs[N]>
    : (input?: Inputs[N], context?: CallContext) => Promise<Outputs[N]>

type One<N extends CallName> = N extends `${string} ${string}` ? never : N
type Group<N extends CallName> = N extends `${infer G} ${string}` ? G : never
type Derived = Omit<{ [N in CallName as One<N>]: Method<N> }, keyof AwExtras> & {
  readonly [G in Group<CallName>]: {
    readonly [N in CallName as N extends `${G} ${infer Word}` ? Word : never]: Method<N>
  }
}

/** @param table the operations to offer; the whole table unless a test adds to it */
export function makeAw(manager: Manager, table: Table = operations as Table): Aw {
  const aw: Record<string, unknown> = {}
  const checked = checkedManager(manager, table)
  for (const entry of table) {
    if (entry.form === 'stream') continue
    const words = entry.name.split(' ')
    const last = words.pop() ?? ''
    const group = words.reduce((at, word) => (at[word] ??= {}) as Record<string, unknown>, aw)
    group[last] = methodOf(checked, entry)
  }
  return Object.assign(aw, extras(checked, aw)) as unknown as Aw
}

function methodOf(manager: Manager, entry: Table[number]): (...args: unknown[]) => Promise<unknown> {
  const call = (input: unknown, context?: unknown): Promise<unknown> =>
    manager.call(entry.name as CallName, (input ?? {}) as never, context as CallContext)
  if (entry.positional[0] !== 'id') return async (input, context) => call(input, context)
  return async (id, input, context) => call({ ...(input as object | undefined), id }, context)
}

function extras(manager: Manager, derived: Record<string, unknown>): AwExtras & AsyncDisposable {
  const method = derived as unknown as { [N in CallName]: (...args: unknown[]) => Promise<never> }
  const handle = async (view: Promise<Outputs['show']>): Promise<Workspace> => workspaceHandle(manager, await view)
  const stream = (input: Inputs['events'], context?: CallContext): AsyncIterable<Outputs['events']> =>
    manager.stream('events', input, context)

  const aw: AwExtras & AsyncDisposable = {
    create: (input, context) => handle(manager.call('create', input ?? {}, context)),
    get: (id, context) => handle(method.show(id, {}, context)),
    list: async (filter, context) => {
      const found: Outputs['list'] = await method.list(filter, context)
      return found.map((one) => workspaceHandle(manager, one))
    },
    ensure: (id, input, context) => handle(method.ensure(id, input, context)),
    rename: (id, input, context) => handle(method.rename(id, input, context)),
    reset: (id, input, context) => handle(method.reset(id, input, context)),
    undelete: (id, input, context) => handle(method.undelete(id, input, context)),
    async cleanup(id, context) {
      const { removed }: Outputs['destroy'] = await method.destroy(id, { if_exists: true }, context)
      return removed
    },
    events: (filter = {}, context) => stream(filter, context),
    subscribe: (filter = {}, context) => fromNow(stream, filter, context),
    async each(name, ids, input, context) {
      const one = async (id: string) => {
        try {
          return { id, ok: true as const, result: await method[name](id, input, context) }
        } catch (error) {
          return { id, ok: false as const, error: error as AwError }
        }
      }
      const results = []
      for (const id of ids) results.push(await one(id))
      return results
    },
    manager,
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
  return aw
}

/** The SDK is an edge: what a caller gives is checked here, once, as on the command line. */
function checkedManager(manager: Manager, table: Table): Manager {
  const check = (name: string, input: unknown): never => {
    const entry = table.find((one) => one.name === name)
    if (entry === undefined) throw new AwError('unsupported', `There is no operation ${name}`)
    return parse(entry.input, input) as never
  }
  return {
    call: async (name, input, context) => manager.call(name, check(name, input), context),
    stream: (name, input, context) => manager.stream(name, check(name, input), context),
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
}

/** Starts behind what is in the log now, unless the caller says where it left off. */
async function* fromNow(
  stream: (input: Inputs['events'], context?: CallContext) => AsyncIterable<Outputs['events']>,
  filter: Omit<Inputs['events'], 'follow' | 'limit'>,
  context?: CallContext,
): AsyncIterable<Outputs['events']> {
  let after = filter.after
  if (after === undefined) {
    after = 0
    for await (const { position } of stream({}, context)) after = position
  }
  yield* stream({ ...filter, after, follow: true }, context)
}
