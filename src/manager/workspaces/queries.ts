import type { Inputs, Outputs } from '../../api/table.ts'
import { parseDuration } from '../../domain/text/duration.ts'
import { AwError } from '../../domain/errors.ts'
import { adaptPrompt as adapt, workspacePaths } from '../../domain/paths.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { hasMount, mountOf, mountWish } from '../../domain/sandbox/mount.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import {
  isLive,
  nameOf,
  workspaceStates,
  type Workspace,
  type WorkspaceStateName,
} from '../../domain/workspace/state.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { Core, Request } from '../core.ts'
import { findToShow, findWorkspace, lookUp } from '../kernel/find.ts'
import { leaseOf } from '../access/lease.ts'
import { shown } from '../snapshots/queries.ts'
import { trashOf, volumeOf } from '../kernel/places.ts'
import { glance, rulerFor, type Ruler } from '../space/measure.ts'
import { gradeOf } from '../space/size-limit.ts'
import { isTreeGone, treeGone } from '../kernel/tree-gone.ts'
import { hasHostPaths, hostPath, view, type WorkspaceView } from '../kernel/view.ts'

/** Use cases that only look. None of them waits for a lock or recovers anything. */

export async function show(core: Core, input: Inputs['show'], request: Request): Promise<WorkspaceView> {
  const workspace = await findToShow(core, input.id)
  const known = {
    ...(await shown(core, workspace)),
    ...(await limited(core, workspace)),
    ...(await used(core, workspace)),
  }
  return input.sizes === true ? { ...known, ...(await sizeOf(workspace, rulerFor(core, request, 1, glance))) } : known
}

async function used(core: Core, workspace: Workspace): Promise<Pick<WorkspaceView, 'lease'>> {
  return isLive(workspace.state) ? { lease: await leaseOf(core, workspace) } : {}
}

async function limited(core: Core, workspace: Workspace): Promise<Pick<WorkspaceView, 'size_limit'>> {
  if (!isLive(workspace.state)) return {}
  return { size_limit: { mb: workspace.config.max_size_mb, grade: await gradeOf(core, workspace) } }
}

export async function list(core: Core, input: Inputs['list'], request: Request): Promise<Outputs['list']> {
  const found = await core.store.list({
    task: input.task,
    agent: input.agent,
    states: statesOf(input),
    labels: input.labels,
    createdBefore: input.older_than === undefined ? undefined : ago(core, input.older_than, 'older_than'),
    createdAfter: input.newer_than === undefined ? undefined : ago(core, input.newer_than, 'newer_than'),
    after: input.after as WorkspaceId | undefined,
    limit: input.limit,
  })
  if (input.sizes !== true) return found.map((workspace) => view(core, workspace))
  const ruler = rulerFor(core, request, found.length, glance)
  const sized: WorkspaceView[] = []
  for (const workspace of found) sized.push({ ...view(core, workspace), ...(await sizeOf(workspace, ruler)) })
  return sized
}

function statesOf(input: Inputs['list']): readonly WorkspaceStateName[] | undefined {
  if (input.state !== undefined) return input.state
  if (input.all === true) return undefined
  return input.trashed === true ? ['trashed'] : workspaceStates.filter(isLive)
}

const ago = (core: Core, duration: string, field: string): string =>
  new Date(core.clock.now().getTime() - parseDuration(duration, field)).toISOString()

async function sizeOf(
  workspace: Workspace,
  ruler: Ruler,
): Promise<Pick<WorkspaceView, 'size_bytes' | 'size_complete'>> {
  const tree = workspace.trash.at(-1)
  const place = workspace.state === 'trashed' && tree !== undefined ? trashOf(tree.tree) : volumeOf(workspace)
  try {
    const measured = await ruler(place)
    return { size_bytes: measured?.bytes ?? null, size_complete: measured?.complete ?? false }
  } catch {
    // What is known of it is told, also when its tree is out of reach.
    return { size_bytes: null, size_complete: false }
  }
}

export async function path(core: Core, input: Inputs['path']): Promise<Outputs['path']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  const { kind, path: target } = core.storage.attachment(volumeOf(workspace))
  if (await isTreeGone(core, workspace)) throw treeGone(workspace)
  if (kind !== 'dir') throw notVisible(workspace)
  await core.storage.ready(volumeOf(workspace))
  if ((await core.host.published(workspace.path)) === target) return { path: workspace.path }
  throw new AwError('path_not_visible', `${workspace.path} does not lead to ${nameOf(workspace)} any more`, {
    hint: `Something other than aw changed it; mend it with: aw recover ${nameOf(workspace)}`,
    data: { id: workspace.id, path: workspace.path },
  })
}

const notVisible = (workspace: Workspace): AwError =>
  new AwError('path_not_visible', `${nameOf(workspace)} has no path on this machine: it is seen inside its sandbox`, {
    hint:
      `Work in it with aw exec ${nameOf(workspace)} -- COMMAND or aw shell ${nameOf(workspace)}; ` +
      `copy files with aw cp ${nameOf(workspace)}:PATH TO, look at them with aw fs`,
    data: { id: workspace.id },
  })

export async function exists(core: Core, input: Inputs['exists']): Promise<Outputs['exists']> {
  const found = await lookUp(core, input.id)
  if (found === undefined || !isLive(found.state)) return { exists: false }
  return (await isTreeGone(core, found)) ? { exists: false, lost: true } : { exists: true }
}

export async function paths(core: Core, input: Inputs['paths']): Promise<Outputs['paths']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  if (await isTreeGone(core, workspace)) throw treeGone(workspace)
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
const insideOf = ({ config }: Core, workspace: Workspace): string =>
  hasMount(workspace, config.settings['sandbox.isolation']) ? mountOf(mountWish(config), workspace) : workspace.path

const legacyMounts = ['/mnt/workspace', '/workspace', '/mnt/okcomputer']

export async function adaptPrompt(core: Core, input: Inputs['prompt adapt']): Promise<Outputs['prompt adapt']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  if (input.host === true && !hasHostPaths(core)) throw notVisible(workspace)
  const to = input.host === true ? workspace.path : insideOf(core, workspace)
  return { text: adapt(input.text, { from: input.from ?? legacyMounts, to }) }
}
