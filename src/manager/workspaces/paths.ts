import type { Inputs, Outputs } from '../../api/table.ts'
import { workspacePaths } from '../../domain/paths.ts'
import { hasMount, mountOf, mountSetting } from '../../domain/sandbox/mount.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { isTreeMissing, missingTree } from '../kernel/missing-tree.ts'
import { hasHostPaths, hostPath } from '../kernel/view.ts'

export async function paths(core: Core, input: Inputs['paths']): Promise<Outputs['paths']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  if (await isTreeMissing(core, workspace)) throw missingTree(workspace)
  const profile = profileOf(workspace.profile)
  const directories = [...profile.directories, profile.metadata]
  const where = workspacePaths({
    id: workspace.id,
    root: workspace.path,
    publicRoot: insideOf(core, workspace),
    directories,
  })
  const { root = '', [profile.metadata]: metadata = '', ...internal } = where.internal
  const { root: public_root = '', [profile.metadata]: _, ...inside } = where.public
  return {
    workspace: nameOf(workspace),
    root: hostPath(core, root),
    content: hostPath(core, internal[profile.content] ?? root),
    metadata: hostPath(core, metadata),
    directories: hasHostPaths(core) ? internal : {},
    public_root,
    public_directories: inside,
  }
}

/** Where those inside find it: now, or in its next sandbox. */
export const insideOf = ({ config }: Core, workspace: Workspace): string =>
  hasMount(workspace, config.settings['sandbox.isolation']) ? mountOf(mountSetting(config), workspace) : workspace.path
