import { parse } from '../api/parse.ts'
import { operations, type Inputs, type OperationName, type Outputs, type StreamName, type Table } from '../api/table.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { checkedContext } from './context.ts'
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
  /** Destroy that does not mind if there is nothing; `false` the second time. */
  cleanup(id: string, context?: CallContext): Promise<boolean>
  /** What happened so far, oldest first. */
  events(
    filter?: Omit<Inputs['events'], 'follow' | 'from_now'>,
    context?: CallContext,
  ): AsyncIterable<Outputs['events']>
  /** What happens from now on, until the loop is left or the signal fires. */
  subscribe(
    filter?: Omit<Inputs['events'], 'follow' | 'from_now'>,
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
    ? AllOptional<Inputs[N]> extends true
      ? (id?: string, input?: Rest<N>, context?: CallContext) => Promise<Outputs[N]>
      : AllOptional<Rest<N>> extends true
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
export function makeAw(manager: Manager, table: Table = operations): Aw {
  const aw: Record<string, unknown> = {}
  const checked = checkedManager(manager, table)
  for (const entry of table) {
    if (entry.form === 'stream') continue
    const words = entry.name.split(' ')
    const last = words.pop() ?? ''
    const group = words.reduce((at, word) => (at[word] ??= {}) as Record<string, unknown>, aw)
    group[last] = methodOf(checked, entry)
  }
  return Object.assign(aw, extras(checked)) as unknown as Aw
}

function methodOf(manager: Manager, entry: Table[number]): (...args: unknown[]) => Promise<unknown> {
  const call = (input: object, context: unknown): Promise<unknown> =>
    manager.call(entry.name as CallName, input, context as CallContext)
  if (entry.positional[0] !== 'id') return async (input, context) => call(input ?? {}, context)
  return async (id, input, context) => call({ ...(input as object | undefined), id }, context)
}

function extras(manager: Manager): AwExtras & AsyncDisposable {
  const handle = async (view: Promise<Outputs['show']>): Promise<Workspace> => workspaceHandle(manager, await view)
  return {
    create: (input = {}, context) => handle(manager.call('create', input, context)),
    get: (id, context) => handle(manager.call('show', { id }, context)),
    async list(filter = {}, context) {
      const found = await manager.call('list', filter, context)
      return found.map((one) => workspaceHandle(manager, one))
    },
    ensure: (id, input, context) => handle(manager.call('ensure', { ...input, id }, context)),
    rename: (id, input, context) => handle(manager.call('rename', { ...input, id }, context)),
    reset: (id, input, context) => handle(manager.call('reset', { ...input, id }, context)),
    undelete: (id, input, context) => handle(manager.call('undelete', { ...input, id }, context)),
    async cleanup(id, context) {
      const { removed } = await manager.call('destroy', { id, if_exists: true }, context)
      return removed
    },
    events: (filter = {}, context) => manager.stream('events', filter, context),
    subscribe: (filter = {}, context) =>
      manager.stream('events', { from_now: filter.after === undefined, ...filter, follow: true }, context),
    async each(name, ids, input, context) {
      const results = []
      for (const id of ids) {
        const one = await settled(manager.call(name, { ...input, id }, context))
        results.push({ id, ...one })
      }
      return results
    },
    manager,
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
}

async function settled<T>(work: Promise<T>): Promise<{ ok: true; result: T } | { ok: false; error: AwError }> {
  try {
    return { ok: true, result: await work }
  } catch (error) {
    return { ok: false, error: toAwError(error) }
  }
}

/** The SDK is an edge: what a caller gives is checked here, once, as on the command line. */
function checkedManager(manager: Manager, table: Table): Manager {
  const check = (name: string, input: unknown): never => {
    const entry = table.find((one) => one.name === name)
    if (entry === undefined) throw new AwError('unsupported', `There is no operation ${name}`)
    return parse(entry.input, input) as never
  }
  return {
    call: async (name, input, context) => manager.call(name, check(name, input), checkedContext(context)),
    stream: (name, input, context) => manager.stream(name, check(name, input), checkedContext(context)),
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
}
