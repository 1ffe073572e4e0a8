import { parse } from '../api/parse.ts'
import { operations, type Inputs, type Outputs, type Table } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { checkedContext } from './context.ts'
import type { Derived } from './derived.ts'
import { executeAll, type ExecOptions, type ExecutionOfAll } from './execution.ts'
import { forkWith, settleItem, type Fork, type ItemResult } from './forks.ts'
import { restoreWith, type Restore } from './restore.ts'
import { streamed, type Streamed } from './streamed.ts'
import { workspaceHandle, type Workspace } from './workspace.ts'

/**
 * The SDK: a method for each operation of the table, over whatever implements the `Manager` port. Words of an operation
 * become a path of methods (`fs read` is `aw.fs.read`); its first positional field is the first argument; everything
 * else is one object. Answers that are workspaces come as handles.
 */
export type Aw = Omit<Derived, keyof AwExtras> & AwExtras & AsyncDisposable

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
  /** A sandbox around it that lives until it is stopped. */
  start(id: string, input?: Omit<Inputs['start'], 'id'>, context?: CallContext): Promise<Workspace>
  stop(id: string, input?: Omit<Inputs['stop'], 'id'>, context?: CallContext): Promise<Workspace>
  /** A command in each live workspace of a task, all at once. */
  execAll(
    task: string,
    argv: readonly string[],
    options?: Omit<ExecOptions, 'stdin'>,
    context?: CallContext,
  ): ExecutionOfAll
  /**
   * Runs an agent or a command in a workspace that is made for it, or in one that is there: `await` gives all that was
   * told, `for await` tells it as it comes. Whoever leaves the loop leaves the run to itself; a signal cancels it.
   */
  run(input: Inputs['run'], context?: CallContext): Streamed<Outputs['run']>
  /** What the last run of a workspace wrote, or another. */
  logs(id: string, input?: Omit<Inputs['logs'], 'id'>, context?: CallContext): Streamed<Outputs['logs']>
  readonly restore: Restore
  /** Workspaces that begin as another one: a handle, or of several a result for each. */
  readonly fork: Fork
  /**
   * What differs between two trees, each a workspace, `workspace@snapshot` or the id of a snapshot; with one workspace,
   * what changed in it since its head. To be awaited, or iterated as it comes.
   */
  diff(
    from: string,
    to?: string,
    options?: Omit<Inputs['diff'], 'from' | 'to'>,
    context?: CallContext,
  ): Streamed<Outputs['diff']>
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

type BatchName = Extract<(typeof operations)[number], { batch: true }>['name']

/** @param table the operations to offer; the whole table unless a test adds to it */
export function makeAw(manager: Manager, table: Table = operations): Aw {
  const aw: Record<string, unknown> = {}
  const checked = checkedManager(manager, table)
  for (const entry of table) {
    if (entry.form === 'stream') continue
    const words = entry.name.split(' ')
    const last = words.pop() ?? ''
    const group = words.reduce((at, word) => (at[word] ??= {}) as Record<string, unknown>, aw)
    // `snapshot` is a method, and so is `snapshot.label`.
    group[last] = Object.assign(methodOf(checked, entry), group[last])
  }
  return Object.assign(aw, extras(checked)) as unknown as Aw
}

function methodOf(manager: Manager, entry: Table[number]): (...args: unknown[]) => Promise<unknown> {
  const call = (input: object, context: unknown): Promise<unknown> =>
    manager.call(entry.name as never, input as never, context as CallContext)
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
    start: (id, input, context) => handle(manager.call('start', { ...input, id }, context)),
    stop: (id, input, context) => handle(manager.call('stop', { ...input, id }, context)),
    execAll: (task, argv, options = {}, context) => executeAll(manager, task, argv, options, context),
    run: (input, context) => streamed(manager, 'run', input, context),
    logs: (id, input, context) => streamed(manager, 'logs', { ...input, id }, context),
    restore: restoreWith(manager),
    fork: forkWith(manager, (view) => workspaceHandle(manager, view)),
    diff: (from, to, options, context) => streamed(manager, 'diff', { ...options, from, to }, context),
    async cleanup(id, context) {
      const { removed } = await manager.call('destroy', { id, if_exists: true }, context)
      return removed
    },
    events: (filter = {}, context) => manager.stream('events', filter, context),
    subscribe: (filter = {}, context) =>
      manager.stream('events', { from_now: filter.after === undefined, ...filter, follow: true }, context),
    async each(name, ids, input, context) {
      const results = []
      for (const id of ids) results.push(await settleItem(id, manager.call(name, { ...input, id }, context)))
      return results
    },
    manager,
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
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
