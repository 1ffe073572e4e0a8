import { AwError } from '../../domain/errors.ts'
import { isRunId, isWorkspaceId, type RunId } from '../../domain/ids.ts'
import { formatName, parseName, type WorkspaceName } from '../../domain/names.ts'
import { isLive, isLost, isRestorable, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'

/** A live workspace by its name or one of its runs, or any by its id. */
export async function findWorkspace(core: Core, ref: string): Promise<Workspace> {
  const found = await lookUp(core, ref)
  if (found !== undefined) return found
  throw await notFound(core, ref)
}

export async function lookUp(core: Core, ref: string): Promise<Workspace | undefined> {
  if (isWorkspaceId(ref)) return core.store.get(ref)
  const { task, agent } = parseName(ref)
  const owner = isRunId(ref) ? await core.store.ofRun(ref) : undefined
  // The id of a run means its workspace for ever, also if another one is called so.
  if (owner !== undefined) return isLive(owner.state) ? owner : undefined
  return core.store.find(task, agent)
}

/** The same for what is done with a run: the one whose id was given. Programs that think in runs know no other name. */
export async function findWithRun(
  core: Core,
  ref: string,
): Promise<{ readonly workspace: Workspace; readonly run: RunId | undefined }> {
  const workspace = await findWorkspace(core, ref)
  const run = isRunId(ref) && (await core.store.ofRun(ref))?.id === workspace.id ? ref : undefined
  return { workspace, run }
}

/** As `findWorkspace`, or the only one of the name of which nothing but an archive is left. */
export async function findToShow(core: Core, ref: string): Promise<Workspace> {
  const found = await lookUp(core, ref)
  if (found !== undefined) return found
  const error = await notFound(core, ref)
  if (isWorkspaceId(ref) || 'state' in error.data) throw error
  const { task, agent } = parseName(ref)
  const erased = await core.store.list({ task, agent, states: ['purged'] })
  const [only, ...others] = erased.filter(({ archives = [] }) => archives.length > 0)
  if (only === undefined) throw error
  if (others.length === 0) return only
  const ids = [only, ...others].map(({ id }) => id)
  throw new AwError('workspace_not_found', `${ids.length} workspaces that are erased were called ${ref}`, {
    hint: `See one of them by its id: aw show ${ids.at(-1)}`,
    data: { workspace: ref, ids },
  })
}

/** The workspace of a name that went last and can come back; an id picks another. */
export async function findTrashed(core: Core, ref: string, { only = false } = {}): Promise<Workspace> {
  const all = isWorkspaceId(ref) ? [await core.store.get(ref)] : await goneByName(core, parseName(ref))
  const [found] = all
  if (only && all.length > 1)
    throw several(
      ref,
      all.flatMap((one) => one ?? []),
    )
  if (found !== undefined) return found
  const live = isWorkspaceId(ref) ? undefined : await lookUp(core, ref)
  if (live !== undefined) return live
  throw new AwError('workspace_not_found', `There is no workspace ${ref} in the trash`, {
    hint: 'See what is there: aw list --trashed',
    data: { workspace: ref },
  })
}

const several = (ref: string, all: readonly Workspace[]): AwError =>
  new AwError('invalid_input', `There are ${all.length} workspaces ${ref} in the trash`, {
    hint: `Say which, the last one first: ${all
      .slice(0, most)
      .map(({ id }) => id)
      .join(', ')}`,
    data: { field: 'id', ids: all.map(({ id }) => id) },
  })

/** As `findWorkspace`, else the one of the name that went last and can come back. */
export async function findLiveOrTrashed(core: Core, ref: string): Promise<Workspace> {
  const found = (await lookUp(core, ref)) ?? (await goneByName(core, parseName(ref)))[0]
  if (found !== undefined) return found
  throw await notFound(core, ref)
}

/** In the trash, or lost with snapshots that are left. Who went last comes first. */
async function goneByName(core: Core, name: WorkspaceName): Promise<Workspace[]> {
  const found = await core.store.list({ task: name.task, agent: name.agent, states: ['trashed', 'purged'] })
  return found
    .filter((workspace) => workspace.state === 'trashed' || isRestorable(workspace))
    .toSorted((a, b) => goneAt(b).localeCompare(goneAt(a)) || b.id.localeCompare(a.id))
}

/** What else is in the trash of a lost one went there before. */
const goneAt = (workspace: Workspace): string =>
  isLost(workspace) ? workspace.updated_at : (workspace.trash.at(-1)?.at ?? '')

/** With what the user can do about it. */
export async function notFound(core: Core, ref: string): Promise<AwError> {
  const owner = isRunId(ref) ? await core.store.ofRun(ref) : undefined
  const known = isWorkspaceId(ref) ? await core.store.get(ref) : (owner ?? (await goneByName(core, parseName(ref)))[0])
  const name = owner === undefined ? (isWorkspaceId(ref) ? ref : formatName(parseName(ref))) : nameOf(owner)
  if (known !== undefined && isRestorable(known)) {
    return new AwError('workspace_not_found', `The tree of ${name} was removed by something other than aw`, {
      hint: `Make it anew from its last snapshot: aw undelete ${name}; see all: aw snapshots ${known.id}`,
      data: { workspace: name, id: known.id, state: known.state },
    })
  }
  if (known?.state !== 'trashed') {
    return new AwError('workspace_not_found', `There is no workspace ${name}`, {
      hint: (await siblings(core, ref)) ?? 'See what there is: aw list',
      data: { workspace: name },
    })
  }
  return new AwError('workspace_not_found', `${name} is in the trash`, {
    hint: `Bring it back with: aw undelete ${name}`,
    data: { workspace: name, id: known.id, state: known.state },
  })
}

/** Who types the task alone means its `main`, and may not know that there is none. */
async function siblings(core: Core, ref: string): Promise<string | undefined> {
  if (isWorkspaceId(ref) || ref.includes('/')) return undefined
  const { task } = parseName(ref)
  const all = await core.store.list({ task })
  const names = all
    .filter(({ state }) => isLive(state))
    .map(nameOf)
    .toSorted()
  if (names.length === 0) return undefined
  const more = names.length > most ? ` and ${names.length - most} more` : ''
  return `${ref} means ${formatName(parseName(ref))}; there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, most).join(', ')}${more}`
}

const most = 5
