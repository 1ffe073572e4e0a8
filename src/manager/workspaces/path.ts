import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { volumeOf } from '../kernel/places.ts'
import { isTreeMissing, missingTree } from '../kernel/missing-tree.ts'

/** Only looks: it waits for no lock and recovers nothing. */
export async function path(core: Core, input: Inputs['path']): Promise<Outputs['path']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  const { kind, path: target } = core.storage.attachment(volumeOf(workspace))
  if (await isTreeMissing(core, workspace)) throw missingTree(workspace)
  if (kind !== 'dir') throw notVisible(workspace)
  await core.storage.ready(volumeOf(workspace))
  if ((await core.host.published(workspace.path)) === target) return { path: workspace.path }
  throw new AwError('path_not_visible', `${workspace.path} does not lead to ${nameOf(workspace)} any more`, {
    hint: `Something other than aw changed it; mend it with: aw recover ${nameOf(workspace)}`,
    data: { id: workspace.id, path: workspace.path },
  })
}

export const notVisible = (workspace: Workspace): AwError =>
  new AwError('path_not_visible', `${nameOf(workspace)} has no path on this machine: it is seen inside its sandbox`, {
    hint:
      `Work in it with aw exec ${nameOf(workspace)} -- COMMAND or aw shell ${nameOf(workspace)}; ` +
      `copy files with aw cp ${nameOf(workspace)}:PATH TO, look at them with aw fs`,
    data: { id: workspace.id },
  })
