import type { WorkspaceEventData } from './events.ts'
import { isCounted } from './snapshots.ts'
import type { UndoneTree, Workspace } from './state.ts'

/** The part of the fold that tells where a workspace stands among its snapshots, and what `undo` and `redo` would do. */

type Restored = WorkspaceEventData['workspace_restored']

/** The tree is equal to a snapshot, and so is the end of its branch. */
export const moveHead = ({ branch, branches }: Workspace, head: Workspace['head'], on = branch) => ({
  head,
  branch: on,
  branches: { ...branches, [on]: head },
})

export function applyRestore(before: Workspace, data: Restored): Workspace {
  const { snapshot, branch, paths, kept, generation, problem } = data
  const after = {
    ...before,
    operation: null,
    problem: problem ?? null,
    snapshots: countSnapshots(before, kept),
    redo: redoAfter(before, data),
    before: beforeAfter(before, data),
  }
  return paths === null ? { ...after, generation, ...moveHead(before, snapshot, branch) } : after
}

/** Single paths that are taken back cannot be had again with `redo`, which makes the whole tree equal to a snapshot. */
function redoAfter({ redo, branch }: Workspace, { how, paths, replaced }: Restored): readonly UndoneTree[] {
  if (how === 'restore') return []
  if (paths !== null) return redo
  if (how === 'redo') return redo.slice(1)
  return replaced === null ? redo : [{ snapshot: replaced, branch }, ...redo]
}

/** So many restores in a row can be taken back one by one. */
const most = 20

function beforeAfter({ head, branch, before }: Workspace, data: Restored): Workspace['before'] {
  const { how, snapshot, paths, replaced } = data
  const isUnfinished = paths?.length === 0
  if (how !== 'undo' || isUnfinished) {
    if (replaced === null) return []
    const isNothing = replaced === snapshot && branch === data.branch && !isUnfinished
    return isNothing ? before : [{ snapshot: replaced, branch, paths }, ...before].slice(0, most)
  }
  const [last, ...earlier] = before
  if (last?.snapshot === snapshot && last.branch === data.branch) return earlier
  // Only what was changed since the restore is undone: the restore itself is next.
  return paths === null && snapshot === head ? before : []
}

type Counted = Parameters<typeof isCounted>[0]

export const countSnapshots = (
  { snapshots }: Workspace,
  added: readonly Counted[],
  removed: readonly Counted[] = [],
) => ({
  all: snapshots.all + added.length - removed.length,
  // Of a workspace that is gone only what forks began as is left, and no limit counts it.
  counted: Math.max(0, snapshots.counted + added.filter(isCounted).length - removed.filter(isCounted).length),
})

export function withoutSnapshots(
  before: Workspace,
  removed: WorkspaceEventData['snapshot_removed']['snapshots'],
): Workspace {
  const parents = new Map(removed.map(({ snapshot, parent }) => [snapshot, parent]))
  const kept = (id: Workspace['head']): Workspace['head'] =>
    id !== null && parents.has(id) ? kept(parents.get(id) ?? null) : id
  return {
    ...before,
    head: kept(before.head),
    branches: Object.fromEntries(Object.entries(before.branches).map(([name, id]) => [name, kept(id)])),
    redo: before.redo.filter(({ snapshot }) => !parents.has(snapshot)),
    before: before.before.filter(({ snapshot }) => !parents.has(snapshot)),
    snapshots: countSnapshots(before, [], removed),
  }
}
