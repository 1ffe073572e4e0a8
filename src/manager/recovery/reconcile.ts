import { type AwError, toAwError } from '../../domain/errors.ts'
import { isWorkspaceId } from '../../domain/ids.ts'
import { isLive, isLost, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { revokeLostBridges } from '../sandboxes/bridge.ts'
import { removeUnfinishedCopies } from '../files/cp.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { closeLost } from '../trash/destroy.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { erasingOf, pathOf, trashOf, treeName, volumeOf } from '../kernel/places.ts'
import { reconcileSnapshots } from './recover-snapshots.ts'
import { closeLostRuns, removeStrayBoxes } from './boxes.ts'
import { reconcileHome } from './home.ts'
import { relocate } from '../workspaces/rename.ts'
import { abandonedScratch, removeScratch } from '../files/scratch.ts'
import { settleDestroyed } from '../trash/settle-destroyed.ts'
import { unlessBusy } from './unless-busy.ts'

export interface Reconciled {
  readonly failed: { id: string; name: string; operation: string; message: string }[]
  /** Workspaces that were given up as lost and whose tree is there again: it is in the trash now. */
  readonly found: string[]
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
  const failed: Reconciled['failed'] = []
  for (const workspace of live) {
    // What a reboot unmounted is mounted again. Where that fails, the others do not wait for it.
    const problem = await core.storage.ready(volumeOf(workspace)).then(() => undefined, toAwError)
    if (problem !== undefined) {
      failed.push(notReady(workspace, problem))
      continue
    }
    if (volumes.has(workspace.id)) await cleanUp(core, request, workspace)
    const linked = (await core.host.published(workspace.path)) === core.storage.attachment(volumeOf(workspace)).path
    if (volumes.has(workspace.id) && linked) continue
    const fate = await repairWorkspace(core, request, workspace)
    if (fate === 'lost') lost.push(nameOf(workspace))
    if (fate === 'relinked') relinked.push(nameOf(workspace))
    if (fate === 'blocked') failed.push(blocked(workspace))
  }
  for (const workspace of known.filter(({ trash, operation }) => trash.length > 0 && operation === null)) {
    if (await isUnsettled(core, workspace, volumes))
      await unlessBusy(core, request, workspace.id, (now) => settleDestroyed(core, now), undefined)
    if (await closeLostTrash(core, request, workspace, onDisk)) lost.push(nameOf(workspace))
  }
  const found = await restoreFound(core, request, onDisk, only)
  const snapshots = await reconcileSnapshots(core, request, onDisk, known)
  lost.push(...snapshots.lost.filter((name) => !lost.includes(name)))
  if (only !== undefined) return { relinked, lost, failed, found, orphans: [], leftovers: [] }
  await removeStrayBoxes(core)
  await revokeLostBridges(core, request)
  const home = await reconcileHome(core, request, onDisk)
  const orphans = [...snapshots.unknown, ...home.unknown].map(({ area, name }) => `${area}/${name}`)
  // What was in the way of a tree was put aside a moment ago.
  const aside = (await core.storage.list()).filter(({ area }) => area === 'found')
  for (const place of [...onDisk.filter(({ area }) => area !== 'found'), ...aside])
    if (await isOrphan(core, request, place)) orphans.push(`${place.area}/${place.name}`)
  return { relinked, lost, failed, found, orphans, leftovers: await removeLeftovers(core, request, onDisk) }
}

const isUnsettled = async (
  core: Core,
  { id, state, path }: Workspace,
  volumes: ReadonlySet<string>,
): Promise<boolean> =>
  state === 'trashed' &&
  (volumes.has(id) || (await core.host.published(path)) === core.storage.attachment(volumeOf({ id })).path)

/** Under its lock: who looks into a tree is taken for somebody who works there. */
async function cleanUp(core: Core, request: Request, { id }: Workspace): Promise<void> {
  const work = async (now: Workspace): Promise<void> => {
    await closeLostRuns(core, request, now)
    await removeUnfinishedCopies(core, now)
  }
  await unlessBusy(core, request, id, work, undefined).catch(() => undefined)
}

/** True if a tree that should be in the trash is not, now that we look under the lock. */
async function closeLostTrash(
  core: Core,
  request: Request,
  stale: Workspace,
  onDisk: readonly Place[],
): Promise<boolean> {
  const names = new Set(onDisk.filter(({ area }) => area === 'trash').map(({ name }) => name))
  const isThere = (tree: string): boolean => names.has(tree) || names.has(erasingOf(tree).name)
  if (stale.trash.every(({ tree }) => isThere(tree))) return false
  return unlessBusy(
    core,
    request,
    stale.id,
    async (workspace) => {
      const trees: string[] = []
      for (const { tree } of workspace.trash) {
        const there = (await core.storage.exists(trashOf(tree))) || (await core.storage.exists(erasingOf(tree)))
        if (!there) trees.push(tree)
      }
      if (trees.length === 0) return false
      await append(core, request, workspace, [
        newEvent(core, request, 'trash_lost', { ...nameFields(workspace), trees }),
      ])
      return true
    },
    false,
  )
}

const blocked = (workspace: Workspace): Reconciled['failed'][number] => ({
  id: workspace.id,
  name: nameOf(workspace),
  operation: 'link',
  message: `there is something at ${workspace.path} that aw did not make; move it away and recover again`,
})

const notReady = (workspace: Workspace, { message, hint }: AwError): Reconciled['failed'][number] => ({
  id: workspace.id,
  name: nameOf(workspace),
  operation: 'mount',
  message: hint === undefined ? message : `${message}. ${hint}`,
})

/** A mount that is back brings trees back that were given up without it. They go to the trash, where they can be had. */
async function restoreFound(
  core: Core,
  request: Request,
  onDisk: readonly Place[],
  only: Workspace | undefined,
): Promise<string[]> {
  const found: string[] = []
  for (const { area, name } of onDisk) {
    if (area !== 'volumes' || !isWorkspaceId(name) || (only !== undefined && name !== only.id)) continue
    const workspace = await core.store.get(name)
    if (workspace === undefined || !isLost(workspace)) continue
    const restore = async (now: Workspace): Promise<boolean> => {
      if (!isLost(now) || !(await core.storage.exists(volumeOf(now)))) return false
      const tree = treeName(now)
      await core.storage.move(volumeOf(now), trashOf(tree))
      await append(core, request, now, [newEvent(core, request, 'workspace_found', { ...nameFields(now), tree })])
      return true
    }
    if (await unlessBusy(core, request, name, restore, false)) found.push(nameOf(workspace))
  }
  return found
}

/** Looks again under the lock, since the workspace may have moved on. Busy ones are somebody's business already. */
async function repairWorkspace(
  core: Core,
  request: Request,
  stale: Workspace,
): Promise<'lost' | 'relinked' | 'blocked' | 'fine'> {
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
      // The home was moved or copied, or the base path is another now: users look for it there.
      if (workspace.path !== pathOf(core, workspace)) await relocate(core, request, workspace)
      else await core.host.publish(workspace.path, target)
      return 'relinked'
    })
  } catch (error) {
    const { code } = toAwError(error)
    if (code === 'file_exists') return 'blocked'
    if (code === 'workspace_busy') return 'fine'
    throw error
  }
}

/** Trees move while we look, so whatever the log does not place here is looked at again under its workspace's lock. */
async function isOrphan(core: Core, request: Request, place: Place): Promise<boolean> {
  if (place.area === 'tmp' || place.area === 'snapshots' || place.area === 'bases') return false
  if (place.name.startsWith('shared_')) return false
  const id = place.name.split('.')[0] ?? ''
  const workspace = isWorkspaceId(id) ? await core.store.get(id) : undefined
  if (workspace === undefined) return core.storage.exists(place)
  if (belongs(workspace, place)) return false
  const look = async (now: Workspace): Promise<boolean> => !belongs(now, place) && (await core.storage.exists(place))
  return unlessBusy(core, request, workspace.id, look, false)
}

function belongs(workspace: Workspace, { area, name }: Place): boolean {
  if (area === 'volumes') return name === workspace.id && (isLive(workspace.state) || workspace.operation !== null)
  if (area !== 'trash') return false
  if (workspace.trash.some(({ tree }) => tree === name || erasingOf(tree).name === name)) return true
  if (workspace.operation?.intent['tree'] === name) return true
  return workspace.state === 'destroying' && name === treeName(workspace)
}

/** `tmp` holds trees that somebody builds; one whose builder is gone was left by a crash and holds nobody's work. */
export const leftoversOf = async (core: Core, onDisk: readonly Place[]): Promise<Place[]> => [
  ...(await unfinishedOf(core, onDisk)),
  ...(await abandonedScratch(core, onDisk)),
]

/** What operations build is named after them: such a one is over. */
async function unfinishedOf(core: Core, onDisk: readonly Place[]): Promise<Place[]> {
  const working = new Set((await core.store.list({ inOperation: true })).map(({ operation }) => operation?.id))
  return onDisk.filter(({ area, name }) => area === 'tmp' && name.startsWith('op_') && !working.has(name as never))
}

export async function removeLeftovers(core: Core, request: Request, onDisk: readonly Place[]): Promise<string[]> {
  const over = await unfinishedOf(core, onDisk)
  const names: string[] = await removeScratch(core, onDisk)
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
