import { AwError } from '../../../../domain/errors.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { translate } from '../../../../sys/safe-fs/errors.ts'
import { newTemporaryName } from '../../../../sys/safe-fs/write/staged.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { atBytes } from '../../../../sys/trees/names.ts'
import { kindOf, statEntry } from '../../../../sys/trees/stat.ts'
import { unlock } from '../../../../sys/trees/unlock.ts'
import { nameOf, openDirectories, parentOf } from '../../../../sys/trees/directory-cache.ts'
import { type Entry, isLinked, parseEntry } from './entry.ts'
import { makeEntry } from './make-entry.ts'
import { applyOwnerAndMode } from '../../../../sys/trees/owner-and-mode.ts'
import { hardLinkKey } from './materialise.ts'
import type { Objects } from './objects.ts'
import type { Plan } from './plan.ts'
import type { KnownEntry } from './scan/stat-index.ts'

/**
 * Makes a volume equal to a frozen tree by changing what differs, and that alone: what is equal keeps its inode. A file
 * is replaced by a rename, so that it always is the old one or the new; directories get their modes and times last. Safe
 * to be done again from wherever it was interrupted.
 *
 * Nothing is removed or replaced that is not what it was found to be: each thing is looked at right before, and a
 * directory goes only when it is empty. Else it is `workspace_active`, and what was put there since is untouched.
 * @param found what is there, by path
 * @param onTouch right before each change; as long as it was not called, the volume is as it was
 */
export function* applySteps(
  objects: Objects,
  top: number,
  found: ReadonlyMap<string, KnownEntry>,
  wanted: ReadonlyMap<string, string>,
  plan: Plan,
  onTouch: () => void = () => {},
): Coroutine<void> {
  let current = '.'
  try {
    yield* steps(objects, top, found, wanted, plan, { onStep: (path) => (current = path), onTouch })
  } catch (error) {
    throw translate(error, current)
  }
}

function* steps(
  objects: Objects,
  top: number,
  found: ReadonlyMap<string, KnownEntry>,
  wanted: ReadonlyMap<string, string>,
  plan: Plan,
  { onStep, onTouch }: { onStep: (path: string) => void; onTouch: () => void },
): Coroutine<void> {
  using directories = openDirectories(top, (path, fd) => open(path, fd))
  /** Directories that are to be dressed in the end: what is in them, or their own mode, was changed. */
  const undressed = new Set<string>(plan.dress)

  for (const path of plan.remove.toReversed()) {
    onStep(path)
    remove(path)
    yield
  }
  const first = new Map<string, string>()
  for (const entry of plan.make) {
    onStep(entry.path)
    if (entry.kind === 'directory') makeDirectory(entry.path)
    else yield* make(entry)
    yield
  }
  for (const entry of plan.redress) {
    onStep(entry.path)
    if (assertKnown(entry.path)) {
      onTouch()
      applyOwnerAndMode(atBytes(directories.holding(entry.path), nameOf(entry.path)), entry)
    }
    yield
  }
  for (const path of [...undressed].toSorted().toReversed()) {
    const line = wanted.get(path)
    if (line === undefined) continue
    onStep(path)
    onTouch()
    applyOwnerAndMode(
      path === '.' ? atBytes(top, '.') : atBytes(directories.holding(path), nameOf(path)),
      parseEntry(line),
    )
    yield
  }

  function remove(path: string): void {
    const holder = writable(parentOf(path))
    if (!assertKnown(path)) return
    onTouch()
    const place = atBytes(holder, nameOf(path))
    if (kindOf(found.get(path)?.print ?? '') !== 'directory') {
      hostFs.unlinkSync(place)
      return
    }
    directories.forget(path)
    try {
      hostFs.rmdirSync(place)
    } catch (error) {
      throw hasCode(error, 'ENOTEMPTY', 'EEXIST') ? changed(path) : error
    }
  }

  function makeDirectory(path: string): void {
    onTouch()
    try {
      hostFs.mkdirSync(atBytes(writable(parentOf(path)), nameOf(path)), 0o700)
    } catch (error) {
      throw hasCode(error, 'EEXIST') ? changed(path) : error
    }
    undressed.add(path)
  }

  function* make(entry: Entry): Coroutine<void> {
    const { path } = entry
    const holder = writable(parentOf(path))
    const temporary = newTemporaryName()
    try {
      const twin = isLinked(entry) ? first.get(hardLinkKey(entry)) : undefined
      if (twin !== undefined) linkTwin(twin, path, temporary)
      else if ((yield* makeEntry(objects, holder, temporary, entry)) === 'device') return
      else if (isLinked(entry)) first.set(hardLinkKey(entry), path)
      assertKnown(path)
      const directory = directories.holding(path)
      onTouch()
      hostFs.renameSync(atBytes(directory, temporary), atBytes(directory, nameOf(path)))
    } catch (error) {
      discard(path, temporary)
      throw error
    }
  }

  function discard(path: string, temporary: string): void {
    try {
      hostFs.unlinkSync(atBytes(directories.holding(path), temporary))
    } catch {
      // The first failure is the one to tell.
    }
  }

  /** False if it is gone, which is nobody's loss. */
  function assertKnown(path: string): boolean {
    const now = statEntry(directories.holding(path), nameOf(path))
    if (now === undefined) return false
    const known = found.get(path)
    if (known === undefined || !isSameEntry(known, now.print)) throw changed(path)
    return true
  }

  /** A directory to be written to; as its owner, if need be. It gets its own mode when all is done. */
  function writable(path: string): number {
    const directory = directories.open(path)
    open(path, directory)
    return directory
  }

  function open(path: string, directory: number): void {
    unlock(directory, 0o700)
    undressed.add(path)
  }

  function linkTwin(from: string, to: string, temporary: string): void {
    const holder = directories.holding(to)
    const source = atBytes(directories.holding(from), nameOf(from))
    hostFs.linkSync(source, atBytes(holder, temporary))
  }
}

/**
 * A directory changes with what is put in it, by ourselves too: it is still one. Of a file with several names, how many
 * there are and the time of that change when another of them is replaced.
 */
function isSameEntry({ print, line }: KnownEntry, now: string): boolean {
  if (kindOf(print) === 'directory') return kindOf(now) === 'directory'
  if (!isLinked(parseEntry(line))) return print === now
  return withoutLinks(print) === withoutLinks(now)
}

/** Without the number of names, which comes first, and the time of the last change of anything. */
const withoutLinks = (print: string): string => print.slice(4, 32) + print.slice(48)

export const changed = (path: string): AwError =>
  new AwError('workspace_active', `Something was written to the workspace while it was restored: ${path}`, {
    hint: 'Stop what runs in it, and try again',
    data: { path },
  })
