import type { NewEvent } from '../domain/event.ts'
import { isLive, nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Place } from '../ports/storage-driver.ts'
import { newEvent, type Core, type Request } from './core.ts'
import { closeLost } from './destroy.ts'
import { toAwError } from '../domain/errors.ts'
import { withWorkspace } from './operations.ts'
import { volumeOf } from './places.ts'

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
  return { relinked, lost, orphans: orphansOf(onDisk, known), leftovers: await removeLeftovers(core, request, onDisk) }
}

/** Looks again under the lock, since the workspace may have moved on. Busy ones are somebody's business already. */
async function mend(core: Core, request: Request, stale: Workspace): Promise<'lost' | 'relinked' | 'fine'> {
  try {
    return await withWorkspace(core, request, stale.id, async (workspace) => {
      if (!isLive(workspace.state)) return 'fine'
      const volume = volumeOf(workspace)
      if (!(await core.storage.exists(volume))) {
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

function orphansOf(onDisk: readonly Place[], known: readonly Workspace[]): string[] {
  const owned = new Set<string>()
  for (const workspace of known) {
    if (isLive(workspace.state) || workspace.operation !== null) owned.add(`volumes/${workspace.id}`)
    for (const { tree } of workspace.trash) owned.add(`trash/${tree}`)
    const tree = workspace.operation?.intent['tree']
    if (typeof tree === 'string') owned.add(`trash/${tree}`)
  }
  return onDisk
    .filter(({ area }) => area !== 'tmp')
    .map(({ area, name }) => `${area}/${name}`)
    .filter((tree) => !owned.has(tree))
}

/** `tmp` holds trees that operations build; one whose operation is over was left by a crash and holds nobody's work. */
async function removeLeftovers(core: Core, request: Request, onDisk: readonly Place[]): Promise<string[]> {
  const working = new Set((await core.store.list({ inOperation: true })).map(({ operation }) => operation?.id))
  const trees = onDisk.filter(
    ({ area, name }) => area === 'tmp' && name.startsWith('op_') && !working.has(name as never),
  )
  for (const place of trees) await core.storage.erase(place)
  const names = trees.map(({ name }) => name)
  if (names.length > 0) await appendHome(core, newEvent(core, request, 'leftovers_removed', { trees: names }))
  return names
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
