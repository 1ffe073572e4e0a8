import { type Base, baseEventTypes, type BaseFacts, foldBases } from '../../domain/sources/bases.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { Lock } from '../../ports/host.ts'
import type { Created, CreateOptions, Place, SnapshotOptions } from '../../ports/storage-driver.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { cachedFold } from '../kernel/cached-fold.ts'

export const basePlace = (name: string): Place => ({ area: 'bases', name })

type Bases = ReadonlyMap<string, Base>

const folded = cachedFold<Bases>(baseEventTypes, foldBases)

/** The bases that the log knows, oldest first. */
export const basesOf = ({ store }: Core): Promise<Bases> => folded(store, 'home')

/** Bases are only made where a workspace begins as one in constant time; else they would cost what they save. */
export const hasBases = ({ storage }: Core): boolean => storage.capabilities.fork === 'constant'

/** A base that only one workspace began as, made by the operation that made its tree. */
export const ownBase = ({ id }: Pick<OperationRef, 'id'>): string => `${own}${id}`

export const isOwnBase = (base: string): boolean => base.startsWith(own)

const own = 'began-'

/** Whether it says what was there, without the contents of files. */
export const isListedBase = async (core: Core, base: string): Promise<boolean> =>
  (await basesOf(core)).get(base)?.listed === true

/** One at a time makes a state of a thing; who waits then finds it. */
export async function lockGroup(core: Core, request: Request, group: string): Promise<Lock> {
  const lock = await core.host.lock(`base-${group}`, { timeoutMs, signal: request.signal })
  if (lock !== undefined) return lock
  throw new AwError('workspace_busy', 'Another process has been fetching the same source for an hour', {
    hint: 'Try again; if that process is stuck, end it',
    data: { group },
  })
}

const timeoutMs = 3_600_000

/** Freezes a tree as a base. Needs the lock of its group. */
export async function freezeBase(
  core: Core,
  request: Request,
  place: Place,
  base: string,
  facts: BaseFacts,
  { exclude }: Pick<SnapshotOptions, 'exclude'> = {},
): Promise<void> {
  const { listed } = facts
  await appendHome(core, newEvent(core, request, 'base_started', { base }))
  await core.storage.snapshot(place, basePlace(base), { consistent: true, listed, exclude, signal: request.signal })
  await appendHome(core, newEvent(core, request, 'base_created', { base, ...facts }))
}

/** The next number of a group: one that no base of it has ever had, finished or not. Needs the lock of the group. */
export async function nextNumber(core: Core, group: string): Promise<number> {
  let last = 0
  for await (const event of core.store.read('home', { types: ['base_started'] })) {
    const name = event.type === 'base_started' ? event.data.base : ''
    const number = name.startsWith(`${group}-`) ? Number(name.slice(group.length + 1)) : 0
    if (Number.isSafeInteger(number)) last = Math.max(last, number)
  }
  return last + 1
}

/**
 * Whether it was finished. One on disk that the log does not know was left by a crash, and of what it was made from nothing
 * is known; but what a workspace names is its beginning.
 */
export const isFinished = async (core: Core, base: string): Promise<boolean> =>
  (await basesOf(core)).has(base) || (await usersOf(core, base)).length > 0

/** A new tree that begins as a base. Undefined if that is not there (any more), or was never finished. */
export async function createFromBase(
  core: Core,
  request: Request,
  place: Place,
  base: string,
  making: Pick<CreateOptions, 'after' | 'later'> = {},
): Promise<Created | undefined> {
  if (!(await core.storage.exists(basePlace(base))) || !(await isFinished(core, base))) return undefined
  try {
    return await core.storage.create(place, { from: basePlace(base), signal: request.signal, ...making })
  } catch (error) {
    if (toAwError(error).code === 'snapshot_not_found') return undefined
    throw error
  }
}

/** Erases one for good. Needs the lock of its group, and that no workspace needs it. */
export async function eraseBase(
  core: Core,
  request: Request,
  base: string,
  why: 'user' | 'unneeded' | 'replaced' | 'unfinished' | 'lost',
): Promise<void> {
  await core.storage.erase(basePlace(base))
  await appendHome(core, newEvent(core, request, 'base_removed', { base, why }))
}

/** Names of workspaces that began as it and are not gone for good. */
export async function usersOf(core: Core, base: string): Promise<string[]> {
  const users = await core.store.list({ baseName: base })
  return users.filter(({ state }) => state !== 'purged').map(({ task, agent }) => `${task}/${agent}`)
}
