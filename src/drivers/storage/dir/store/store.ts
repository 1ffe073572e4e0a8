import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { basename, join } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import { ensureDirectory, syncDirectory } from '../../../../sys/fs/directories.ts'
import { readIfPresent } from '../../../../sys/fs/durable-file.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { type HeldLock, lock, tryLock } from '../../../../sys/locks/lock.ts'
import { native } from '../../../../sys/syscalls/native.ts'
import { directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { removeTree } from '../../../../sys/safe-fs/index.ts'
import { syncFiles } from '../../../../sys/trees/sync.ts'
import { statEntry } from '../../../../sys/trees/stat.ts'

/**
 * What a storage root has besides its trees, all of it made when it is first needed:
 *
 * - `objects`: the contents of frozen files.
 * - `damaged`: contents that were found not to be what their names say.
 * - `incoming`: what is being made and not there yet. Nothing in it is needed after a crash.
 * - `index`: what is remembered of volumes; may be lost.
 * - `journals`: which volume is being restored, and from what.
 * - `sweep`: a word that changes whenever contents are removed or put aside.
 * - `store.lock`: shared by all who add to the store or rely on what they found there, from the first look until the
 *   manifest that refers to it is durable; held alone by whoever removes contents that no manifest refers to, and clears
 *   `incoming`. So an object that somebody is about to refer to is never taken for one that nobody needs.
 */
export interface Store {
  readonly root: string
  /** A name for something that is being made. */
  incoming(what: string): string
  /** Held by whoever adds to the store. Clears what crashes have left, if nobody else is at work. */
  enter(signal?: AbortSignal): Promise<HeldLock>
  /** The lock for removing; undefined if somebody is adding and does not end soon. */
  alone(): Promise<HeldLock | undefined>
  sweep(): string
  markSweep(): void
  /** Everything written to the file system so far is on the disk. Others go on meanwhile. */
  flush(): Promise<void>
  /** The same for some files and directories alone; for many it costs less to flush all. */
  flushOnly(paths: readonly string[]): Promise<void>
  /** The index of the volume whose top is open. */
  indexFile(top: number): string
  /** The journal of the volume at a path; named after its place, so that it is found in a copy of the root too. */
  journalFile(volume: string): string
  /** Writes a file under a name in `incoming`, and answers it. */
  stage(bytes: Uint8Array): string
}

const waitMs = 2000
/** A flush of everything waits for the writes of everybody else on the file system too. */
const maxAlone = 64

export function openStore(root: string): Store {
  const lockFile = join(root, 'store.lock')
  const incoming = (what: string): string => join(root, 'incoming', `${what}-${randomBytes(8).toString('hex')}`)
  const prepare = (): void => {
    for (const name of ['objects', 'incoming', 'index', 'journals']) ensureDirectory(join(root, name), 0o700)
  }
  const stage = (bytes: Uint8Array): string => {
    const temporary = incoming('file')
    const fd = hostFs.createSync(temporary, 0o600)
    try {
      hostFs.writeSync(fd, bytes)
    } finally {
      fs.closeSync(fd)
    }
    return temporary
  }
  const flush = async (): Promise<void> => {
    const calls = native()
    if (calls === undefined) {
      await syncFiles(root)
      return
    }
    const fd = fs.openSync(root, 'r')
    try {
      await calls.syncfsLater(fd)
    } finally {
      fs.closeSync(fd)
    }
  }
  return {
    root,
    incoming,
    async enter(signal) {
      prepare()
      if (fs.readdirSync(join(root, 'incoming')).length > 0) {
        using held = tryLock(lockFile)
        if (held !== undefined) await clearIncoming(root)
      }
      const held = await lock(lockFile, { shared: true, signal })
      if (held === undefined) throw new AwError('internal', 'A lock without a time limit ran out of time')
      return held
    },
    async alone() {
      prepare()
      return lock(lockFile, { timeoutMs: waitMs })
    },
    sweep: () => readIfPresent(join(root, 'sweep')) ?? '0',
    markSweep() {
      hostFs.renameSync(stage(Buffer.from(randomBytes(8).toString('hex'))), join(root, 'sweep'))
      syncDirectory(root)
    },
    flush,
    async flushOnly(paths) {
      if (paths.length > maxAlone) await flush()
      else await Promise.all(paths.map(flushPath))
    },
    indexFile: (top) => join(root, 'index', identityOf(top)),
    journalFile: (volume) => join(root, 'journals', basename(volume)),
    stage,
  }
}

/** At the same time: one commit of the journal then serves several. */
async function flushPath(path: string): Promise<void> {
  const fd = fs.openSync(path, 'r')
  try {
    await hostFs.fsync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Of the directory itself, so it stays with it wherever it is moved; printable. */
const identityOf = (top: number): string =>
  Buffer.from(statEntry(top, '')?.print.slice(16, 24) ?? '', 'latin1').toString('hex')

/** Removes what is remembered of a volume that is going to be erased. */
export function forgetVolume(store: Store, path: string): void {
  const fd = openIfPresent(path)
  if (fd === undefined) return
  try {
    unlinkIfPresent(store.indexFile(fd))
    // A tree in the trash has a number behind the name of the workspace, which may have another tree by now.
    const volume = join(store.root, 'volumes', basename(path).split('.', 1)[0] ?? '')
    if (path === volume || !fs.existsSync(volume)) unlinkIfPresent(store.journalFile(volume))
  } finally {
    fs.closeSync(fd)
  }
}

function openIfPresent(path: string): number | undefined {
  try {
    return fs.openSync(path, directoryFlags)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}

export function unlinkIfPresent(file: string): void {
  try {
    hostFs.unlinkSync(file)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

export async function clearIncoming(root: string): Promise<void> {
  const directory = join(root, 'incoming')
  for (const name of fs.readdirSync(directory)) await removeTree(directory, name)
}
