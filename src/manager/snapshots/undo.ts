import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { nameOf, type ReplacedTree, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { changesSince, differs, isBelow, pathChanges } from '../diff/differences.ts'
import type { Plan } from './restore-tree.ts'
import { noHead, snapshotsOf } from './lookup.ts'
import { restoreWorkspace } from './restore-workspace.ts'

/**
 * Takes back what was done last: a restore, if the tree is as that left it; else to the head if the tree differs from it,
 * else to what the head grew from.
 */
export async function undo(core: Core, input: Inputs['undo'], request: Request): Promise<Outputs['undo']> {
  return restoreWorkspace(core, input, request, async (workspace) => {
    const { head, branch } = workspace
    const [last] = workspace.before
    const dirty = head !== null && (await differs(core, workspace, head))
    if (last && (last.paths !== null || !dirty)) return takenBack(core, workspace, last)
    const parent = head === null ? null : ((await snapshotsOf(core, workspace.id)).get(head)?.parent ?? null)
    const snapshot = dirty ? head : parent
    if (snapshot !== null) return { how: 'undo', snapshot, branch, paths: null }
    throw nothingToUndo(workspace)
  })
}

function nothingToUndo(workspace: Workspace): AwError {
  const name = nameOf(workspace)
  const { message, hint } =
    workspace.head === null
      ? noHead(workspace)
      : { message: `${name} is where it began`, hint: `Take snapshots as you go: aw snapshot ${name}` }
  return new AwError('nothing_to_undo', message, { ...(hint !== undefined && { hint }), data: { id: workspace.id } })
}

/** If only paths were restored, what was done elsewhere since stays. */
async function takenBack(core: Core, workspace: Workspace, { snapshot, branch, paths }: ReplacedTree): Promise<Plan> {
  const whole = { how: 'undo', snapshot, branch, paths: null } as const
  if (paths === null || paths.length === 0) return whole
  for await (const change of changesSince(core, workspace, snapshot))
    if (pathChanges(change).some(([path]) => !isBelow(path, paths))) return { ...whole, paths: [...paths] }
  return whole
}
