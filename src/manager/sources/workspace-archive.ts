import { nameOf, repositoryField, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'

/** An archive of a workspace, without what aw itself puts into it; any other archive is content for one. */
export const workspaceLayout = 'workspace'

/** What such an archive says about itself. Nothing of when it was made: the same state twice gives the same file. */
export const workspaceArchiveHeader = (core: Core, workspace: Workspace) => ({
  layout: workspaceLayout,
  name: nameOf(workspace),
  workspace: workspace.id,
  profile: workspace.profile,
  driver: core.storage.name,
  ...repositoryField(workspace),
})
