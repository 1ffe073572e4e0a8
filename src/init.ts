import { join } from 'node:path'
import { openLog, openManager, resolveHome, type OpenOptions } from './aw.ts'
import { baseEventTypes, foldBases } from './domain/sources/bases.ts'
import { AwError } from './domain/errors.ts'
import type { AnyEvent } from './domain/log/event.ts'
import { parseSize } from './domain/space/size.ts'
import { foldTemplates, templateEventTypes } from './domain/sources/templates.ts'
import type { Wanted } from './drivers/storage/registry.ts'
import type { EventStore } from './ports/event-store.ts'
import { fileFacts } from './sys/fs/durable-file.ts'
import { prepareHome } from './sys/home/home.ts'
import { reserveIn } from './sys/fs/reserve.ts'

export interface InitOptions extends OpenOptions {
  /** Default: what the setting `storage.driver` says. */
  readonly storage?: Wanted | undefined
  /** Of a btrfs pool, as `20G`; by default half of what is free. */
  readonly size?: string | undefined
  /** Read everything that the btrfs holds and compare it with its checksums. */
  readonly check?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface InitResult {
  readonly home: string
  readonly storage_root: string
  readonly driver: string
  /** False if everything was as asked for. */
  readonly changed: boolean
  readonly pool: { readonly image: string; readonly bytes: number } | null
  readonly check: {
    readonly ok: boolean
    readonly bytes: number
    readonly errors: number
    readonly repaired: number
  } | null
}

/**
 * Sets up the storage of a home, or changes it as long as it holds no tree. The same again changes nothing, except that
 * a larger size enlarges a pool; a pool that is not mounted is mounted. Root may do so for the home of another user.
 */
export async function initHome(options: InitOptions = {}): Promise<InitResult> {
  const { home, config, storage } = await resolveHome(options)
  const setting = config.settings['storage.driver']
  const wanted = options.storage ?? setting
  if (setting !== 'auto' && wanted !== setting)
    throw new AwError('invalid_config', `storage.driver is ${setting} (${config.origins['storage.driver']})`, {
      hint: `Set it to ${wanted} or auto; otherwise the home could not be opened afterwards`,
      data: { key: 'storage.driver', origin: config.origins['storage.driver'] },
    })
  const bytes = options.size === undefined ? undefined : parseSize(options.size, '--size')
  if (!isOfAnother(home)) prepareHome(home, [join(home, 'locks'), join(home, 'texts')])
  const { initStorage } = await import('./drivers/storage/pool/home-storage.ts')
  const { root, driver, changed, pool } = await initStorage(storage, { wanted, bytes })
  const check = options.check === true ? await checkStorage(root, driver, options.signal) : null
  return { home, storage_root: root, driver, changed, pool, check }
}

export interface DeinitOptions extends OpenOptions {
  /** Refuse if there is a pool to delete, with an error that names it. */
  readonly keepPool?: boolean | undefined
}

export interface DeinitResult {
  readonly home: string
  readonly storage_root: string
  /** The pool that was removed. */
  readonly pool: { readonly image: string; readonly bytes: number } | null
}

/**
 * Removes the storage of a home that holds no tree, the pool too; the next use of the home chooses anew. Bases that no
 * workspace needs go with it, for they are made again; not those of templates.
 */
export async function deinitHome(options: DeinitOptions = {}): Promise<DeinitResult> {
  const { home, storage } = await resolveHome(options)
  if (fileFacts(home) === undefined) return { home, storage_root: storage.root, pool: null }
  if (!isOfAnother(home)) {
    prepareHome(home, [join(home, 'locks')])
    const bases = await assertUnneeded(home)
    const { hasImage } = await import('./drivers/storage/pool/image.ts')
    // Where only is told what would go, nothing goes.
    if (bases.length > 0 && !(options.keepPool === true && hasImage(home))) await removeBases(options, bases)
  }
  const { deinitStorage } = await import('./drivers/storage/pool/home-storage.ts')
  const { root, pool } = await deinitStorage(storage, options.keepPool)
  return { home, storage_root: root, pool }
}

/** Only root gets as far as to work there. */
const isOfAnother = (home: string): boolean => process.getuid?.() === 0 && (fileFacts(home)?.uid ?? 0) !== 0

async function checkStorage(root: string, driver: string, signal?: AbortSignal): Promise<InitResult['check']> {
  if (driver !== 'btrfs')
    throw new AwError('unsupported', `Trees of the driver ${driver} have no checksums of the file system`, {
      hint: 'Check snapshots with: aw verify',
      data: { driver },
    })
  const { checkBtrfs } = await import('./drivers/storage/pool/report.ts')
  return checkBtrfs(root, signal)
}

/** The bases that are left where there is no workspace and no template. */
async function assertUnneeded(home: string): Promise<string[]> {
  if (fileFacts(join(home, 'log.db')) === undefined) return []
  await using store = await openLog(home, reserveIn(home, 0))
  await assertNoWorkspaces(store)
  const types = [...baseEventTypes, ...templateEventTypes]
  const events: AnyEvent[] = []
  for await (const event of store.read('home', { types })) events.push(event)
  const templates = [...foldTemplates(events).keys()]
  if (templates.length === 0) return [...foldBases(events).keys()]
  throw new AwError('invalid_state', `There are templates in this home: ${templates.slice(0, 5).join(', ')}`, {
    hint: `Remove them first: aw template remove ${templates[0]}`,
    data: { templates: templates.slice(0, 100), count: templates.length },
  })
}

async function removeBases(options: OpenOptions, bases: readonly string[]): Promise<void> {
  await using manager = await openManager({ ...options, shortLived: true })
  for (const name of bases) await manager.call('bases remove', { name })
}

async function assertNoWorkspaces(store: EventStore): Promise<void> {
  const found = (await store.list({})).filter(({ state }) => state !== 'purged')
  if (found.length === 0) return
  const names = found.map(({ task, agent, state }) => `${task}/${agent}${state === 'trashed' ? ' (in the trash)' : ''}`)
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  throw new AwError('invalid_state', `There are workspaces in this home: ${names.slice(0, 5).join(', ')}${more}`, {
    hint: 'Erase them first, with aw destroy --purge or, for those in the trash, aw purge',
    data: { workspaces: found.map(({ id }) => id).slice(0, 100), count: found.length },
  })
}
