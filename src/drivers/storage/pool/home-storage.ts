import type { DriverName } from '../../../domain/config/storage-drivers.ts'
import { AwError } from '../../../domain/errors.ts'
import { sizeText } from '../../../domain/space/size.ts'
import { fileSystemOf } from '../../../sys/fs/file-system.ts'
import type { Place } from '../../../ports/storage-driver.ts'
import { assertEmpty, removeAreas, removeRoot, treesIn } from '../root/remove-root.ts'
import { mountedAt } from './mount.ts'
import { assertTools, clearPool, growPool, interrupted, makePool, mountHint, mountPool } from './pool.ts'
import { assertPoolSize, defaultPoolBytes, hasImage } from './image.ts'
import { ensureRoot, openPoolLocation, type OpenPoolLocation } from './location.ts'
import { dropPool, poolImage, readPool, writePool } from './record.ts'
import { dropClaim, readClaim } from '../root/claim.ts'
import { assertRoot, readMarker } from '../root/root.ts'
import { assertWorks, bestDriver, forgetTrials } from '../choose-driver.ts'
import { makeStorage } from '../open.ts'
import { type StorageLocation, storageLock, type Wanted } from '../registry.ts'
import { areas } from '../root/tree-root.ts'

/** Setting up the storage of a home on purpose, and giving it up again. Both can be repeated after a crash anywhere. */

export interface InitRequest {
  readonly wanted: Wanted
  /** Of a pool. */
  readonly bytes?: number | undefined
}

export interface InitReport {
  readonly root: string
  readonly driver: DriverName
  /** False if everything was as asked for. */
  readonly changed: boolean
  readonly pool: PoolReport | null
}

export interface PoolReport {
  readonly image: string
  readonly bytes: number
}

/** Makes the storage, or changes it while it holds no tree; the same again is no change, except for a larger pool. */
export async function initStorage(storage: StorageLocation, { wanted, bytes }: InitRequest): Promise<InitReport> {
  using place = openPoolLocation(storage.home, storage.root)
  using _ = await storageLock(place.lock)
  forgetTrials()
  const current = await currentDriver(storage, place)
  const changed =
    current !== undefined && (wanted === 'auto' || wanted === current)
      ? resize(place, bytes)
      : await change(storage, place, current, { wanted, bytes })
  const driver = (readClaim(storage.claim)?.driver ?? 'btrfs') as DriverName
  return { root: storage.root, driver, changed, pool: poolReport(place) }
}

/** Removes the storage of a home if it holds no tree. The next use of the home chooses anew. */
export async function deinitStorage(
  storage: StorageLocation,
  keepPool = false,
): Promise<{ root: string; pool: PoolReport | null }> {
  using place = openPoolLocation(storage.home, storage.root)
  using _ = await storageLock(place.lock)
  forgetTrials()
  const pool = poolReport(place)
  if (pool === null) {
    dropPool(place.inside)
    await leave(storage)
  }
  if (pool !== null) removePool(storage, place, keepPool)
  return { root: storage.root, pool }
}

// -- init ------------------------------------------------------------------------------------------------------------

/** After a crash first what was begun is ended. A pool is mounted. */
async function currentDriver(storage: StorageLocation, place: OpenPoolLocation): Promise<DriverName | undefined> {
  const record = readPool(place.inside)
  if (record?.state === 'removing') throw interrupted(record.state)
  if (record?.state === 'making') {
    requireRoot(place)
    clearPool(place)
  }
  if (record?.state === 'ready') {
    mountOrTell(place)
    if (place.own) await closed(makeStorage(storage, 'btrfs'))
    return 'btrfs'
  }
  const claim = readClaim(storage.claim)
  if (claim === undefined) return undefined
  const begun = !claim.made && readMarker(storage.root)?.key === claim.key
  if (begun) await closed(makeStorage(storage, claim.driver as DriverName))
  if (!claim.leaving && (claim.made || begun)) return claim.driver as DriverName
  await leave(storage)
  return undefined
}

function mountOrTell(place: OpenPoolLocation): void {
  if (isRoot()) return mountPool(place)
  if (mountedAt(place.root)?.type === 'btrfs') return
  throw new AwError('storage_unavailable', `The pool of this home is not mounted at ${place.root}`, {
    hint: mountHint(place.home),
    data: { root: place.root },
  })
}

/** What there is is given up when it is certain that what is wanted can be had. */
async function change(
  storage: StorageLocation,
  place: OpenPoolLocation,
  current: DriverName | undefined,
  request: InitRequest,
): Promise<true> {
  if (current !== undefined) assertChangeable(storage, place, current)
  const made = await plan(storage, place, request)
  if (current !== undefined) await leave(storage)
  await made()
  return true
}

function assertChangeable(storage: StorageLocation, place: OpenPoolLocation, current: DriverName): void {
  assertTreeless(storage, `The storage of this home was made by the driver ${current} and is in use`)
  if (readPool(place.inside) === undefined) return
  throw new AwError('invalid_state', 'The storage of this home is a btrfs pool', {
    hint: 'Remove it first with: aw deinit --yes',
    data: { driver: current },
  })
}

/** True if it has changed. */
function resize(place: OpenPoolLocation, bytes: number | undefined): boolean {
  if (bytes === undefined) return false
  const record = readPool(place.inside)
  if (record === undefined) throw noPool()
  requireRoot(place)
  if (bytes < record.bytes)
    throw new AwError('invalid_input', `The pool has ${sizeText(record.bytes)} and cannot become smaller`, {
      hint: 'Give a larger --size; for a smaller pool remove it while it is empty: aw deinit --yes',
      data: { bytes, now: record.bytes },
    })
  assertPoolSize(place.inside, bytes)
  growPool(place, bytes)
  return bytes > record.bytes
}

/** Checks everything that can be checked, and answers with what is then to be done. */
async function plan(
  storage: StorageLocation,
  place: OpenPoolLocation,
  { wanted, bytes }: InitRequest,
): Promise<() => Promise<void>> {
  if (wanted === 'btrfs' && fileSystemOf(storage.root) !== 'btrfs') return planPool(storage, place, bytes)
  if (bytes !== undefined) throw noPool()
  if (!place.own)
    throw new AwError('permission_denied', `The home ${place.home} belongs to uid ${place.owner.uid}`, {
      hint: 'Only a pool is made by root for others; run this as its owner',
      data: { owner: place.owner.uid },
    })
  const driver =
    wanted === 'auto' ? await bestDriver(storage) : wanted === 'dir' ? wanted : await assertWorks(storage, wanted)
  return () => closed(makeStorage(storage, driver))
}

function planPool(storage: StorageLocation, place: OpenPoolLocation, bytes: number | undefined): () => Promise<void> {
  requireRoot(place)
  const size = bytes ?? defaultPoolBytes(place.inside)
  assertPoolSize(place.inside, size)
  assertTools()
  return async () => {
    ensureRoot(place)
    assertEmpty(storage.root)
    await makePool(place, size)
    if (place.own) await closed(makeStorage(storage, 'btrfs'))
  }
}

async function closed(opening: Promise<AsyncDisposable>): Promise<void> {
  await using _ = await opening
}

// -- deinit ----------------------------------------------------------------------------------------------------------

async function leave(storage: StorageLocation): Promise<void> {
  if (readClaim(storage.claim) === undefined) return
  assertTreeless(storage, inUse)
  if (!(await removeRoot(storage.root, areas, storage.claim))) assertTreeless(storage, inUse)
}

function removePool(storage: StorageLocation, place: OpenPoolLocation, keep: boolean): void {
  requireRoot(place)
  const record = readPool(place.inside)
  if (record !== undefined && record.state !== 'making' && hasImage(place.inside)) {
    mountPool(place)
    // Bases that are left then are needed by nobody; they go when it does.
    assertTreeless(storage, inUse, keep ? areas.filter((area) => area !== 'bases') : areas)
    if (keep) throw wouldDelete(place)
    writePool(place.inside, { ...record, state: 'removing' })
    if (!removeAreas(storage.root, areas)) {
      writePool(place.inside, { ...record, state: 'ready' })
      assertTreeless(storage, inUse)
    }
  }
  dropClaim(storage.claim)
  clearPool(place)
}

const wouldDelete = ({ home }: OpenPoolLocation): AwError =>
  new AwError('invalid_input', `This deletes the pool ${poolImage(home)}, which holds no tree that is needed`, {
    hint: 'Say so with: aw deinit --yes',
    data: { image: poolImage(home) },
  })

const inUse = 'The storage of this home is in use'

// -- both ------------------------------------------------------------------------------------------------------------

function poolReport(place: OpenPoolLocation): PoolReport | null {
  const record = readPool(place.inside)
  return record === undefined ? null : { image: poolImage(place.home), bytes: record.bytes }
}

/** A root that is not mounted holds none to be seen, and says nothing. */
function assertTreeless({ root, claim }: StorageLocation, what: string, among: readonly Place['area'][] = areas): void {
  const { key, made = false, leaving = false } = readClaim(claim) ?? { key: '' }
  if (made && !leaving) assertRoot(root, key)
  const trees = treesIn(root, among)
  if (trees.length === 0) return
  const more = trees.length > 5 ? ` and ${trees.length - 5} more` : ''
  throw new AwError('invalid_state', `${what}: it holds ${trees.slice(0, 5).join(', ')}${more}`, {
    hint: 'Erase what is not needed with aw destroy --purge, aw purge, aw bases remove and aw gc; or take a new home',
    data: { trees: trees.slice(0, 100), count: trees.length },
  })
}

const isRoot = (): boolean => process.getuid?.() === 0

function requireRoot({ home }: OpenPoolLocation): void {
  if (isRoot()) return
  throw new AwError('permission_denied', 'Only root can make, mount and remove a pool', {
    hint: `Ask root for: aw init --storage btrfs --home ${home}; or put the home on btrfs, then nobody is needed`,
    data: { home },
  })
}

const noPool = (): AwError =>
  new AwError('invalid_input', '--size is the size of a pool, and this home has none', {
    hint: 'A pool is made by root with: aw init --storage btrfs --size 20G, unless the home is on btrfs itself',
  })
