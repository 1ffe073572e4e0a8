import type { Inputs, Outputs } from '../api/table.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { forkWith, type ForkMany, type ForkOne, type ItemResult } from './forks.ts'
import { restoreWith, type RestoreOptions } from './restore.ts'
import { streamed, type Streamed } from './streamed.ts'
import type { Workspace, WorkspaceView } from './workspace.ts'

type Rest<N extends keyof Inputs> = Omit<Inputs[N], 'id'>

/** What can be done with the snapshots of a workspace. */
export interface WorkspaceHistory {
  readonly snapshot: SnapshotMaker
  /** Where it stands: head, branch, and whether it changed since. */
  describe(context?: CallContext): Promise<Outputs['describe']>
  /** The snapshot is an id, a label, `head` or `base`; the head if left out. */
  restore(snapshot?: string, options?: RestoreOptions, context?: CallContext): Promise<Outputs['restore']>
  undo(input?: Rest<'undo'>, context?: CallContext): Promise<Outputs['undo']>
  redo(input?: Rest<'redo'>, context?: CallContext): Promise<Outputs['redo']>
  /** Names a line of snapshots; it begins at the head, or at `at`. */
  addBranch(name: string, options?: { readonly at?: string }, context?: CallContext): Promise<Outputs['branch']>
  removeBranch(name: string, context?: CallContext): Promise<Outputs['branch']>
  fork(input: ForkMany, context?: CallContext): Promise<ItemResult<Workspace>[]>
  fork(input?: ForkOne, context?: CallContext): Promise<Workspace>
  /** What changed here since it was made, or in comparison with another workspace or snapshot. */
  diff(
    since?: string | { readonly id: string },
    options?: Omit<Inputs['diff'], 'from' | 'to'>,
    context?: CallContext,
  ): Streamed<Outputs['diff']>
  /** Reads its snapshots and compares them with their checksums. */
  verify(context?: CallContext): Promise<Outputs['verify']>
}

/** Called, it takes a snapshot. */
export interface SnapshotMaker {
  (input?: Rest<'snapshot'>, context?: CallContext): Promise<Outputs['snapshot']>
  /** All of them, oldest first. */
  list(input?: Rest<'snapshots'>, context?: CallContext): Promise<Outputs['snapshots']>
  /** `null` takes the label away. */
  label(snapshot: string, label: string | null, context?: CallContext): Promise<Outputs['snapshot label']>
  remove(snapshots: readonly string[], context?: CallContext): Promise<Outputs['snapshot remove']>
}

export function historyOf(manager: Manager, id: string, handle: (view: WorkspaceView) => Workspace): WorkspaceHistory {
  const [restore, fork] = [restoreWith(manager), forkWith(manager, handle)]
  const take = (input?: Rest<'snapshot'>, context?: CallContext): Promise<Outputs['snapshot']> =>
    manager.call('snapshot', { ...input, id }, context)
  return {
    snapshot: Object.assign(take, {
      list: (input?: Rest<'snapshots'>, context?: CallContext) => manager.call('snapshots', { ...input, id }, context),
      label: (snapshot: string, label: string | null, context?: CallContext) =>
        manager.call('snapshot label', { id, snapshot, ...(label === null ? { remove: true } : { label }) }, context),
      remove: (snapshots: readonly string[], context?: CallContext) =>
        manager.call('snapshot remove', { id, snapshots }, context),
    }),
    describe: (context) => manager.call('describe', { id }, context),
    restore: (snapshot, options, context) => restore(id, snapshot, options, context),
    undo: (input, context) => manager.call('undo', { ...input, id }, context),
    redo: (input, context) => manager.call('redo', { ...input, id }, context),
    addBranch: (name, options, context) => manager.call('branch', { ...options, id, name }, context),
    removeBranch: (name, context) => manager.call('branch', { id, name, remove: true }, context),
    fork: ((input: ForkOne, context) => fork(id, input, context)) as WorkspaceHistory['fork'],
    diff: (since, options, context) => {
      const other = typeof since === 'object' ? since.id : since
      return streamed(
        manager,
        'diff',
        { ...options, ...(other === undefined ? { from: id } : { from: other, to: id }) },
        context,
      )
    },
    verify: (context) => manager.call('verify', { id }, context),
  }
}
