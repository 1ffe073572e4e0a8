import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { ensureDirectory, syncDirectory } from '../../../../sys/fs/directories.ts'
import { hasCode, ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { runCancellable } from '../../../../sys/trees/run-cancellable.ts'
import { openObjects } from './objects.ts'
import { type Store, unlinkIfPresent } from './store.ts'

/** In a storage root. */
const damagedDirectory = 'damaged'

/** Nothing can be moved where nothing can be written, and whoever reads there is told of the damage all the same. */
const cannotWrite = ['EROFS', 'ENOSPC', 'EDQUOT', 'EACCES', 'EPERM', 'ENOTDIR', 'EIO'] as const

/**
 * Takes the name from contents that are not what it says, so that the next snapshot which has the right bytes stores
 * them, for the older ones too. The bytes are kept under `damaged` until somebody erases them. Not now if somebody adds to the
 * store and does not end soon.
 *
 * @param found their sizes, by name
 */
export async function quarantine(
  store: Store,
  found: ReadonlyMap<string, number>,
  signal?: AbortSignal,
): Promise<void> {
  if (found.size === 0) return
  try {
    using held = await store.alone()
    if (held !== undefined) await runCancellable(quarantineSteps(store, found), signal)
  } catch (error) {
    if (!hasCode(error, ...cannotWrite)) throw error
  }
}

function* quarantineSteps(store: Store, found: ReadonlyMap<string, number>): Coroutine<void> {
  const objects = openObjects(store.root)
  const directory = join(store.root, damagedDirectory)
  ensureDirectory(directory, 0o700)
  // Before the first goes: who remembers one of them must not rely on it.
  store.markSweep()
  for (const [content, size] of found) {
    // Somebody may have stored it again since it was read.
    if ((yield* objects.problem(content, size)) === undefined) continue
    const aside = join(directory, `${content}.${randomBytes(4).toString('hex')}`)
    ignoreErrors(['ENOENT'], () => hostFs.renameSync(objects.path(content), aside))
  }
  syncDirectory(directory)
}

export interface QuarantinedContent {
  readonly name: string
  readonly bytes: number
  /** Since when it is there. */
  readonly at: Date
}

/** All that was put aside, by name. */
export function listQuarantined(root: string): QuarantinedContent[] {
  const directory = join(root, damagedDirectory)
  const names = ignoreErrors(['ENOENT', 'ENOTDIR'], () => fs.readdirSync(directory)) ?? []
  return names.filter(isQuarantined).flatMap((name) => {
    const found = fs.lstatSync(join(directory, name), { throwIfNoEntry: false })
    // A new name is a change of the file.
    return found?.isFile() === true ? [{ name, bytes: found.size, at: found.ctime }] : []
  })
}

/** Erases one of them. Absent = done. */
export function eraseQuarantined(root: string, name: string): void {
  if (isQuarantined(name)) unlinkIfPresent(join(root, damagedDirectory, name))
}

const isQuarantined = (name: string): boolean => /^[0-9a-f]+\.[0-9a-f]{8}$/.test(name)
