import { toAwError } from '../domain/errors.ts'
import type { NewEvent } from '../domain/event.ts'
import { isWorkspaceId } from '../domain/ids.ts'
import { isLive, nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Place } from '../ports/storage-driver.ts'
import { newEvent, type Core, type Request } from './core.ts'
import { closeLost } from './destroy.ts'
import { withWorkspace } from './operations.ts'
import { trashOf, treeName, volumeOf } from './places.ts'

export interface Reconciled {
  readonly relinked: string[]
  readonly lost: string[]
  readonly orphans: string[]
  readonly leftovers: string[]
}

/**
 * Compares the log with the disk. An intent is in the log before its tree is on disk, so the disk is read first: a tree
 * that the log does not know afterwards is really unknown. Unknown trees are reported and kept; trees of workspaces
 * that the log says are live but that are gone are closed with an event; unfinished trees that nobody works on go.
 */
export async function reconcile(core: Core, request: Request, only?: Workspace): Promise<Reconciled> {
  const onDisk = await core.storage.list()
  const known = only === undefined ? await core.store.list() : [only]
  const live = known.filter((workspace) => isLive(workspace.state) && workspace.operation === null)
  const volumes = new Set(onDisk.filter(({ area }) => area === 'volumes').map(({ name }) => name))
  const relinked: string[] = []
  const lost: string[] = []
  for (const workspace of live) {
    const linked = (await core.host.published(workspace.path)) === core.storage.attachment(volumeOf(workspace)).path
    if (volumes.has(workspace.id) && linked) continue
    const fate = await mend(core, request, workspace)
    if (fate === 'lost') lost.push(nameOf(workspace))
    if (fate === 'relinked') relinked.push(nameOf(workspace))
  }
  if (only !== undefined) return { relinked, lost, orphans: [], leftovers: [] }
  const orphans: string[] = []
  for (const place of onDisk) if (await isOrphan(core, request, place)) orphans.push(`${place.area}/${place.name}`)
  return { relinked, lost, orphans, leftovers: await removeLeftovers(core, request, onDisk) }
}

/** Looks again under the lock, since the workspace may have moved on. Busy ones are somebody's business already. */
async function mend(core: Core, request: Request, stale: Workspace): Promise<'lost' | 'relinked' | 'fine'> {
  try {
    return await withWorkspace(core, request, stale.id, async (workspace) => {
      if (!isLive(workspace.state)) return 'fine'
      const volume = volumeOf(workspace)
      if (!(await core.storage.exists(volume))) {
        // A destroy that failed half-way has its tree in the trash; destroying it again ends it.
        if (await core.storage.exists(trashOf(treeName(workspace)))) return 'fine'
        await closeLost(core, request, workspace, null)
        return 'lost'
      }
      const target = core.storage.attachment(volume).path
      if (workspace.state === 'destroying' || (await core.host.published(workspace.path)) === target) return 'fine'
      await core.host.publish(workspace.path, target)
      return 'relinked'
    })
  } catch (error) {
    const { code } = toAwError(error)
    if (code === 'workspace_busy' || code === 'file_exists') return 'fine'
    throw error
  }
}

/** Trees move while we look, so whatever the log does not place here is looked at again under its workspace's lock. */
async function isOrphan(core: Core, request: Request, place: Place): Promise<boolean> {
  if (place.area === 'tmp') return false
  const id = place.name.split('.')[0] ?? ''
  const workspace = isWorkspaceId(id) ? await core.store.get(id) : undefined
  if (workspace === undefined) return core.storage.exists(place)
  if (belongs(workspace, place)) return false
  try {
    return await withWorkspace(
      core,
      request,
      workspace.id,
      async (now) => !belongs(now, place) && (await core.storage.exists(place)),
    )
  } catch (error) {
    if (toAwError(error).code === 'workspace_busy') return false
    throw error
  }
}

function belongs(workspace: Workspace, { area, name }: Place): boolean {
  if (area === 'volumes') return name === workspace.id && (isLive(workspace.state) || workspace.operation !== null)
  if (area !== 'trash') return false
  if (workspace.trash.some(({ tree }) => tree === name) || workspace.operation?.intent['tree'] === name) return true
  return workspace.state === 'destroying' && name === treeName(workspace)
}

/** `tmp` holds trees that operations build; one whose operation is over was left by a crash and holds nobody's work. */
async function removeLeftovers(core: Core, request: Request, onDisk: readonly Place[]): Promise<string[]> {
  const working = new Set((await core.store.list({ inOperation: true })).map(({ operation }) => operation?.id))
  const over = onDisk.filter(
    ({ area, name }) => area === 'tmp' && name.startsWith('op_') && !working.has(name as never),
  )
  const names: string[] = []
  for (const place of over) if (await removed(core, place)) names.push(place.name)
  if (names.length > 0) await appendHome(core, newEvent(core, request, 'leftovers_removed', { trees: names }))
  return names
}

/** False if it left `tmp` since the disk was read, or cannot be erased: then the next one to look tries again. */
async function removed(core: Core, place: Place): Promise<boolean> {
  if (!(await core.storage.exists(place))) return false
  return core.storage.erase(place).then(
    () => true,
    () => false,
  )
}

/** The store's own stream has no lock: whoever loses the race for a version tries the next. */
async function appendHome(core: Core, event: NewEvent): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    let version = 0
    for await (const stored of core.store.read('home')) version = stored.version
    try {
      await core.store.append('home', version, [event])
      return
    } catch (error) {
      if (toAwError(error).code !== 'version_conflict' || attempt === 100) throw error
    }
  }
}
