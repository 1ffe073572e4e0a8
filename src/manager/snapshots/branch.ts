import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { parseBranch } from '../../domain/workspace/snapshot-names.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { resolveSnapshot } from './lookup.ts'

export async function branch(core: Core, input: Inputs['branch'], request: Request): Promise<Outputs['branch']> {
  const found = await findWorkspace(core, input.id)
  if (input.name === undefined) {
    if (input.remove !== true && input.at === undefined) return branches(found)
    throw new AwError('invalid_input', `Which branch is to ${input.remove === true ? 'go' : 'begin there'}?`, {
      hint: `Name it: aw branch ${nameOf(found)} NAME ${input.remove === true ? '--remove' : `--at ${input.at}`}`,
      data: { field: 'name' },
    })
  }
  const name = parseBranch(input.name)
  return withWorkspace(core, request, found.id, async (workspace) => {
    assertAllowed(workspace, 'snapshot')
    if (input.remove === true) assertRemovable(workspace, name)
    const at = input.at === undefined ? workspace.head : await resolveSnapshot(core, workspace, input.at)
    const data = { ...nameFields(workspace), branch: name, snapshot: at, removed: input.remove === true }
    const known = Object.hasOwn(workspace.branches, name)
    // Asking for a branch that is there already changes nothing, unless it is to begin elsewhere.
    if (known && input.remove !== true && input.at === undefined) return branches(workspace)
    if (known && name === workspace.branch && input.at !== undefined) throw currentBranch(workspace, name)
    const after = await append(core, request, workspace, [newEvent(core, request, 'workspace_branched', data)])
    const moved = known && input.remove !== true ? { name, from: workspace.branches[name] ?? null, to: at } : null
    return { ...branches(after), moved }
  })
}

const branches = (workspace: Workspace): Outputs['branch'] => ({
  branch: workspace.branch,
  moved: null,
  branches: Object.entries(workspace.branches).map(([name, id]) => ({
    name,
    snapshot: id,
    current: name === workspace.branch,
  })),
})

function assertRemovable(workspace: Workspace, name: string): void {
  if (name === workspace.branch) throw currentBranch(workspace, name)
  if (Object.hasOwn(workspace.branches, name)) return
  throw new AwError('snapshot_not_found', `${nameOf(workspace)} has no branch ${name}`, {
    hint: `See what there is: aw branch ${nameOf(workspace)}`,
    data: { id: workspace.id, branch: name },
  })
}

const currentBranch = (workspace: Workspace, name: string): AwError =>
  new AwError('invalid_state', `Work goes on with the branch ${name}`, {
    hint: `Go on with another first: aw restore ${nameOf(workspace)} --branch NAME`,
    data: { id: workspace.id, branch: name },
  })
