import { AwError, toAwError } from '../../domain/errors.ts'
import type { CreateOptions, Place } from '../../ports/storage-driver.ts'
import { newId, type Core, type Request } from '../core.ts'
import { applySubstitutions } from '../templates/rendered-files.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { removePlaceholders } from '../sandboxes/placeholders.ts'

const prefix = 'scratch_'

/**
 * Work that needs a tree for a while that nobody else sees and that is no workspace's. It is named by a lock that is held
 * all the while, so that one whose owner died is told from one that is in use.
 */
export async function withScratch<T>(core: Core, request: Request, work: (place: Place) => Promise<T>): Promise<T> {
  await using scratch = await openScratch(core, request)
  return await work(scratch.place)
}

/** The same for as long as the caller holds it. */
export async function openScratch(core: Core, request: Request): Promise<AsyncDisposable & { readonly place: Place }> {
  const name = `${prefix}${newId(core, 'op').slice(3)}`
  const lock = await core.host.lock(name, { timeoutMs: 1000, signal: request.signal })
  const place: Place = { area: 'tmp', name }
  return {
    place,
    async [Symbol.asyncDispose]() {
      using held = lock
      await core.storage.erase(place)
      held?.retire()
    },
  }
}

/** Work on a copy of a frozen tree, without what was there only because of a sandbox and with what was filled in. */
export const withCopy = <T>(
  core: Core,
  request: Request,
  from: KnownTree & Pick<CreateOptions, 'onMissing'>,
  work: (place: Place) => Promise<T>,
): Promise<T> =>
  withScratch(core, request, async (place) => {
    const onProgress = (done: { files: number; bytes: number }): void =>
      request.onProgress?.({ phase: 'copying', ...done })
    const { place: frozen, contents, onMissing } = from
    const making = { from: frozen, beside: await contents?.(), onMissing, signal: request.signal, onProgress }
    await core.storage.create(place, making).catch(withoutRoom)
    await removePlaceholders(core, place, from)
    await applySubstitutions(core, place, from)
    return work(place)
  })

/** What comes of it may go to another disk, which is not the one that is full. */
function withoutRoom(cause: unknown): never {
  if (toAwError(cause).code !== 'disk_full') throw cause
  throw new AwError('disk_full', 'There is no room where workspaces are kept for the copy that this is made from', {
    hint: 'Make room there; aw gc --plan tells what aw itself could give up, and aw cp takes single files out as they are',
    cause,
  })
}

/** Those whose owner is gone. */
export async function abandonedScratch(core: Core, onDisk: readonly Place[]): Promise<Place[]> {
  const stray: Place[] = []
  for (const place of onDisk.filter(isScratch)) {
    using lock = await core.host.lock(place.name, { timeoutMs: 0 })
    if (lock === undefined) continue
    if (await core.storage.exists(place)) stray.push(place)
    else lock.retire()
  }
  return stray
}

/** Erases those whose owner is gone; answers their names. */
export async function removeScratch(core: Core, onDisk: readonly Place[]): Promise<string[]> {
  const removed: string[] = []
  for (const place of onDisk.filter(isScratch)) {
    using lock = await core.host.lock(place.name, { timeoutMs: 0 })
    if (lock === undefined) continue
    if (await core.storage.exists(place)) {
      await core.agents.remove(place.name)
      await core.storage.erase(place)
      removed.push(place.name)
    }
    lock.retire()
  }
  return removed
}

export const isScratchName = (name: string): boolean => name.startsWith(prefix)

const isScratch = ({ area, name }: Place): boolean => area === 'tmp' && isScratchName(name)
