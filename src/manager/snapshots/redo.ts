import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { nameOf } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { differs } from '../diff/differences.ts'
import { restoreWorkspace } from './restore-workspace.ts'

export async function redo(core: Core, input: Inputs['redo'], request: Request): Promise<Outputs['redo']> {
  return restoreWorkspace(core, input, request, async (workspace) => {
    const { head } = workspace
    const [last] = workspace.redo
    const dirty = head !== null && last !== undefined && (await differs(core, workspace, head))
    if (last !== undefined && !dirty) return { how: 'redo', ...last, paths: null }
    const name = nameOf(workspace)
    throw new AwError('nothing_to_redo', dirty ? `${name} was changed since the undo` : `${name} has nothing undone`, {
      hint: dirty
        ? `Restore it by name instead: aw restore ${name} ${last?.snapshot}`
        : `See its history: aw snapshots ${name}`,
      data: { id: workspace.id },
    })
  })
}
