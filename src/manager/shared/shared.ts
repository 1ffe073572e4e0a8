import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { parseName } from '../../domain/names.ts'
import type { SharedArea, TrashedArea } from '../../domain/workspace/shared-areas.ts'
import { checkedShortName } from '../../domain/names.ts'
import { nameOf } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { newEvent, newId, type Core, type Request } from '../core.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { trashOf } from '../kernel/places.ts'
import { assertFreeName, lockArea, sharedAreas, sharedPath, sharedPlace } from './shared-areas.ts'
import { lockTrashed, purgeShared, trashedShared } from './shared-trash.ts'

type View = Outputs['shared create']

const prefix = 'shared_'

export async function createShared(core: Core, input: Inputs['shared create'], request: Request): Promise<View> {
  const name = checkedShortName(input.name, 'a shared area')
  const task = input.task === undefined ? null : checkedTask(input.task)
  using _ = await lockArea(core, request, name)
  await assertFreeName(core, name)
  const tree = `${prefix}${newId(core, 'op').slice(3)}`
  await appendHome(core, newEvent(core, request, 'shared_started', { name, tree }))
  const mode = core.config.settings['workspaces.dir_mode']
  await core.storage.create(sharedPlace({ tree }), { mode, plain: true })
  await core.storage.sync(sharedPlace({ tree }), { small: true })
  await core.host.publish(sharedPath(core, name), core.storage.attachment(sharedPlace({ tree })).path)
  await appendHome(core, newEvent(core, request, 'shared_created', { name, task, tree }))
  return { name, task, path: sharedPath(core, name), created_at: core.clock.now().toISOString() }
}

function checkedTask(task: string): string {
  if (!task.includes('/')) return parseName(task).task
  throw new AwError('invalid_name', `${JSON.stringify(task.slice(0, 200))} is no task`, {
    hint: 'Name the task alone: what stands before the slash',
    data: { task },
  })
}

export async function listShared(core: Core, input: Inputs['shared list']): Promise<Outputs['shared list']> {
  const { live, trashed } = await sharedAreas(core)
  const sized = async (place: Place): Promise<{ bytes?: number | null }> => {
    if (input.sizes !== true) return {}
    const usage = await core.storage.usage(place, { maxFiles: 20_000 }).catch(() => null)
    return { bytes: usage?.bytes ?? null }
  }
  if (input.trashed === true)
    return Promise.all(
      [...trashed.values()].map(async ({ name, task, created_at, trash, at }) => ({
        name,
        task,
        path: null,
        created_at,
        trash,
        removed_at: at,
        ...(await sized(trashOf(trash))),
      })),
    )
  return Promise.all(
    [...live.values()].map(async ({ name, task, created_at, tree }) => ({
      name,
      task,
      path: sharedPath(core, name),
      created_at,
      ...(await sized(sharedPlace({ tree }))),
    })),
  )
}

/** To the trash, where it stays until that is emptied. */
export async function removeShared(
  core: Core,
  input: Inputs['shared remove'],
  request: Request,
): Promise<Outputs['shared remove']> {
  const { name } = input
  using lock = await lockArea(core, request, name)
  const area = (await sharedAreas(core)).live.get(name)
  if (area === undefined)
    throw new AwError('shared_not_found', `There is no shared area ${JSON.stringify(name)}`, {
      hint: 'See them: aw shared list',
      data: { name },
    })
  await assertUnused(core, area)
  const trash = area.tree
  await core.host.unpublish(
    sharedPath(core, name),
    core.storage.attachment(sharedPlace(area)).path,
    `${core.home}/shared`,
  )
  if (await core.storage.exists(sharedPlace(area))) await core.storage.move(sharedPlace(area), trashOf(trash))
  await appendHome(core, newEvent(core, request, 'shared_removed', { name, trash }))
  lock.retire()
  if (input.purge !== true) return { removed: true, trash }
  await purgeShared(core, request, trash)
  return { removed: true, trash: null }
}

async function assertUnused(core: Core, area: SharedArea): Promise<void> {
  const running = await core.store.list({ states: ['running'] })
  const holder = running.find(
    ({ sandbox }) =>
      sandbox?.shared.some(({ name }) => name === area.name) === true &&
      core.host.liveness(sandbox.supervisor) !== 'dead',
  )
  // What is written there from then on would be in the trash, and erased with it.
  if (holder !== undefined)
    throw new AwError('workspace_active', `${area.name} is attached to the sandbox of ${nameOf(holder)}`, {
      hint: `End it first: aw stop ${nameOf(holder)}`,
      data: { name: area.name, workspace: nameOf(holder) },
    })
  const users = await core.host.users(core.storage.attachment(sharedPlace(area)).path, { mounted: true })
  if (users.length === 0) return
  const some = users.slice(0, 3).map(({ pid, command }) => `${command} (${pid})`)
  throw new AwError('workspace_active', `${area.name} is in use by ${some.join(', ')}`, {
    hint: 'End these processes first',
    data: { name: area.name, processes: users },
  })
}

/** Back from the trash, as it was. What the log is told first is what recovery then brings about. */
export async function undeleteShared(
  core: Core,
  input: Inputs['shared undelete'],
  request: Request,
): Promise<Outputs['shared undelete']> {
  const { trash, tree, task, created_at, name: former } = await findTrashed(core, input.trash)
  const name = checkedShortName(input.as ?? former, 'a shared area')
  using _ = await lockArea(core, request, name)
  using lock = await lockTrashed(core, request, trash)
  await findTrashed(core, trash)
  await assertFreeName(core, name)
  const place = sharedPlace({ tree })
  await appendHome(core, newEvent(core, request, 'shared_undeleted', { trash, name, task, tree }))
  try {
    await core.storage.move(trashOf(trash), place)
    await core.host.publish(sharedPath(core, name), core.storage.attachment(place).path)
  } catch (error) {
    if (await core.storage.exists(place)) await core.storage.move(place, trashOf(trash))
    await appendHome(core, newEvent(core, request, 'shared_removed', { name, trash }))
    throw error
  }
  lock.retire()
  return { name, task, path: sharedPath(core, name), created_at }
}

/** By its name in the trash; or the last one that had this name. */
async function findTrashed(core: Core, ref: string): Promise<TrashedArea> {
  const all = await trashedShared(core)
  const found = all.find(({ trash }) => trash === ref) ?? all.findLast(({ name }) => name === ref)
  if (found !== undefined && (await core.storage.exists(trashOf(found.trash)))) return found
  throw new AwError('shared_not_found', `There is no shared area ${JSON.stringify(ref)} in the trash`, {
    hint: 'See them: aw shared list --trashed',
    data: { trash: ref },
  })
}
