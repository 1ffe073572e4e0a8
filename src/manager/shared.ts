import type { Inputs, Outputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { AnyEvent } from '../domain/event.ts'
import { foldShared, type SharedArea, sharedEventTypes } from '../domain/shared-areas.ts'
import { checkedShortName } from '../domain/templates.ts'
import type { Lock } from '../ports/host.ts'
import type { Place } from '../ports/storage-driver.ts'
import { newEvent, newId, type Core, type Request } from './core.ts'
import { appendHome } from './home-stream.ts'
import { trashOf } from './places.ts'

type View = Outputs['shared create']

export async function sharedOf(core: Core): Promise<Map<string, SharedArea>> {
  const events: AnyEvent[] = []
  for await (const event of core.store.read('home', { types: sharedEventTypes })) events.push(event)
  return foldShared(events)
}

const prefix = 'shared_'
export const sharedPlace = ({ tree }: { tree: string }): Place => ({ area: 'volumes', name: tree })

/** Where users find it. */
export const sharedPath = (core: Core, name: string): string => `${core.home}/shared/${name}`

export async function createShared(core: Core, input: Inputs['shared create'], request: Request): Promise<View> {
  const name = checkedShortName(input.name, 'a shared area')
  const task = input.task ?? null
  using _ = await lockArea(core, request, name)
  if ((await sharedOf(core)).has(name))
    throw new AwError('shared_exists', `There is a shared area ${name} already`, {
      hint: 'Take another name, or see it with: aw shared list',
      data: { name },
    })
  const tree = `${prefix}${newId(core, 'op').slice(3)}`
  await appendHome(core, newEvent(core, request, 'shared_started', { name, tree }))
  await core.storage.create(sharedPlace({ tree }), { mode: core.config.settings['workspaces.dir_mode'] })
  await core.storage.sync(sharedPlace({ tree }), { small: true })
  await core.host.publish(sharedPath(core, name), core.storage.attachment(sharedPlace({ tree })).path)
  await appendHome(core, newEvent(core, request, 'shared_created', { name, task, tree }))
  return { name, task, path: sharedPath(core, name), created_at: core.clock.now().toISOString() }
}

export async function listShared(core: Core, input: Inputs['shared list']): Promise<readonly View[]> {
  const areas = [...(await sharedOf(core)).values()]
  return Promise.all(
    areas.map(async (area) => {
      const { name, task, created_at } = area
      const measured = input.sizes === true ? core.storage.usage(sharedPlace(area), { maxFiles: 20_000 }) : undefined
      const bytes = await measured?.then(
        (usage) => usage.bytes,
        () => null,
      )
      const shown = { name, task, path: sharedPath(core, name), created_at }
      return bytes === undefined ? shown : { ...shown, bytes }
    }),
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
  const area = (await sharedOf(core)).get(name)
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

export async function purgeShared(core: Core, request: Request, trash: string): Promise<void> {
  await core.storage.erase(trashOf(trash))
  await appendHome(core, newEvent(core, request, 'shared_purged', { trash }))
}

async function assertUnused(core: Core, area: SharedArea): Promise<void> {
  const users = await core.host.users(core.storage.attachment(sharedPlace(area)).path)
  if (users.length === 0) return
  const some = users.slice(0, 3).map(({ pid, command }) => `${command} (${pid})`)
  throw new AwError('workspace_active', `${area.name} is in use by ${some.join(', ')}`, {
    hint: 'End these processes first',
    data: { name: area.name, processes: users },
  })
}

async function lockArea(core: Core, request: Request, name: string): Promise<Lock> {
  const timeoutMs = core.config.settings['locks.timeout_ms']
  const lock = await core.host.lock(`shared-${checkedShortName(name, 'a shared area')}`, {
    timeoutMs,
    signal: request.signal,
  })
  if (lock !== undefined) return lock
  throw new AwError('workspace_busy', `Something else is done with the shared area ${name}`, { hint: 'Try again' })
}
