import { accessSync, constants } from 'node:fs'
import { arch, availableParallelism, platform } from 'node:os'
import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { PartialDirectory } from './state.ts'
import { packageFolder } from '../processes/package-folder.ts'
import { run } from '../processes/run.ts'
import { systemError } from '../syscalls/system-error.ts'
import type { Where } from '../trees/attributes.ts'
import { treeWorkCancelled } from '../trees/run-cancellable.ts'
import type { StatFingerprint } from '../trees/stat.ts'

/**
 * aw-copy, which copies what is plain of a tree with several threads, makes it of a manifest, or gives a tree away, at
 * the speed of the system calls themselves; see docs/spec/copy-program.md. It is in prebuilt/ of the package for some
 * machines; where it is not, we do all of its work.
 */

let found: string | false | undefined

/** Its path; undefined where there is none for this machine. */
export function copyProgram(): string | undefined {
  found ??= find()
  return found === false ? undefined : found
}

export const copyProgramName = `prebuilt/${platform()}-${arch()}/aw-copy`

function find(): string | false {
  const path = join(packageFolder(), copyProgramName)
  try {
    accessSync(path, constants.X_OK)
    return path
  } catch {
    return false
  }
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface HelperCopy {
  readonly program: string
  /** The tops of the source and of the copy, open. */
  readonly from: number
  readonly to: number
  /** A tree of our own: kept exactly as it is. */
  readonly own: boolean
  readonly where: Where
  /** Whom the copy belongs to, if it is not. */
  readonly owner: Owner
  /** Whether later changes of its files must show; see `cleaning`. */
  readonly remembered: boolean
  /** Whether the copy is to be durable in the end: then it is written out while it is made. */
  readonly durable: boolean
  /** What is never opened, as `device:inode`. */
  readonly guarded: ReadonlySet<string>
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: Counts) => void) | undefined
  /** Is given each directory once, after those in it; `whole`: there is nothing left to do about it. Names are bytes. */
  readonly onDirectory: (path: string, directory: PartialDirectory, whole: boolean) => void
  /** Of a file of several names: where the first of them was copied to. */
  readonly onLink: (print: StatFingerprint, path: string) => void
}

export interface Counts {
  readonly files: number
  readonly bytes: number
  readonly reflinked: number
}

/** False if it cannot be done like this: then nothing was. */
export async function copyWithHelper(copy: HelperCopy): Promise<Counts | false> {
  const { program, from, to, own, where, owner, remembered, durable, guarded, signal } = copy
  let counts: Counts | undefined
  let isRefused = false
  const take = (kind: string, record: Buffer): void => {
    if (kind === 'd') takeDirectory(record, copy.onDirectory)
    else if (kind === 'l') copy.onLink(record.toString('latin1', 0, printBytes), record.toString('latin1', printBytes))
    else if (kind === 'p') copy.onProgress?.(countsIn(record))
    else if (kind === 'z') counts = countsIn(record)
    else if (kind === 'x') isRefused = true
  }
  const exactly = where === 'layer' ? 'layer' : 'exact'
  const how = [own ? exactly : 'plain', remembered ? 'remembered' : 'once', durable ? 'early' : 'late']
  await start(program, [...commonArguments(owner), 'copy', ...how, ...[...guarded].map(identityArgument)], {
    files: [from, to],
    signal,
    take,
  })
  if (isRefused) return false
  if (counts === undefined) throw early()
  return counts
}

export interface HelperMake {
  readonly program: string
  /** Where the contents are, and the top of the new tree, open. */
  readonly objects: number
  readonly top: number
  /** As in a manifest: first the top, then all else in the order of paths. */
  readonly lines: readonly string[]
  /** As for a copy. */
  readonly durable: boolean
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: Counts) => void) | undefined
  /** The content of a path, which is missing, or not what its name says: the failure to throw. */
  readonly lost: (path: string) => Error
}

export interface HelperMade extends Counts {
  /** Of each line; undefined if there is still something to do about it. */
  readonly printOf: (line: number) => StatFingerprint | undefined
}

/** Makes what is plain of a frozen tree. Undefined if it cannot be done like this: then nothing was. */
export async function makeWithHelper(making: HelperMake): Promise<HelperMade | undefined> {
  const { program, objects, top, lines, durable, signal } = making
  let counts: Counts | undefined
  let prints: Buffer | undefined
  let isRefused = false
  let failure: Error | undefined
  const take = (kind: string, record: Buffer): void => {
    if (kind === 'm') prints = record
    else if (kind === 'p') making.onProgress?.(countsIn(record))
    else if (kind === 'z') counts = countsIn(record)
    else if (kind === 'x') isRefused = true
    else if (kind === 'w') failure = making.lost(record.toString('latin1'))
  }
  await start(program, [...commonArguments(), 'make', durable ? 'early' : 'late'], {
    files: [objects, top],
    input: [Buffer.from(lines.join('\n'), 'latin1')],
    signal,
    take,
  }).catch((error: unknown) => {
    throw failure ?? error
  })
  if (isRefused) return undefined
  if (counts === undefined || prints === undefined) throw early()
  const told = prints
  return { ...counts, printOf: (line) => printAt(told, line * printBytes) }
}

/** What was not made has zeros. */
const printAt = (prints: Buffer, at: number): StatFingerprint | undefined =>
  prints.readUInt32LE(at) === 0 ? undefined : prints.toString('latin1', at, at + printBytes)

const early = (): AwError => new AwError('internal', 'aw-copy has ended before it was done')

/** Gives a tree away, with everything in it, that nobody else can reach. @param tree its top, open */
export const chownWithHelper = (program: string, tree: number, owner: Owner, signal?: AbortSignal): Promise<void> =>
  start(program, [...commonArguments(owner), 'give'], { files: [tree], signal, take: () => undefined })

/** As long as a timer can be: a large tree on a slow disk takes what it takes. */
const longest = 2 ** 31 - 1
/** More of them would wait for each other. */
const maxThreads = 4

/** Who starts it, and in how many threads it works. */
export const commonArguments = ({ uid, gid }: Owner = { uid: 0, gid: 0 }): string[] =>
  [process.pid, Math.min(maxThreads, availableParallelism()), uid, gid].map(String)

interface Start {
  readonly files: readonly number[]
  readonly input?: Iterable<Uint8Array> | undefined
  readonly signal: AbortSignal | undefined
  readonly take: (kind: string, record: Buffer) => void
}

async function start(program: string, args: readonly string[], { files, input, signal, take }: Start): Promise<void> {
  let failure: Error | undefined
  const onStdout = records((kind, record) => {
    if (kind === 'e') failure = systemError(record.readUInt32LE(0), `copy '${record.toString('utf8', 4)}'`)
    else take(kind, record)
  })
  try {
    // In a group of its own: what Ctrl-C ends is for the caller to say.
    await run(program, args, { cwd: '/', env: {}, timeoutMs: longest, signal, files, input, onStdout, group: true })
  } catch (error) {
    throw signal?.aborted ? treeWorkCancelled(signal.reason) : (failure ?? error)
  }
}

function identityArgument(identity: string): string {
  const [device = 0n, inode = 0n] = identity.split(':').map(BigInt)
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xfffff000n)
  const minor = (device & 0xffn) | ((device >> 12n) & 0xffffff00n)
  return `${major}:${minor}:${inode}`
}

// -- what it tells ---------------------------------------------------------------------------------------------------

const printBytes = 80
const headBytes = 5

/** Puts together what comes in pieces: of each record its size, its kind, and as many bytes. */
export function records(take: (kind: string, record: Buffer) => void): (bytes: Buffer) => void {
  let waiting: Buffer[] = []
  let length = 0
  let needed = headBytes
  return (bytes) => {
    waiting.push(bytes)
    length += bytes.length
    if (length < needed) return
    const all = Buffer.concat(waiting)
    let at = 0
    for (needed = headBytes; all.length - at >= headBytes; needed = headBytes) {
      needed = headBytes + all.readUInt32LE(at)
      if (all.length - at < needed) break
      take(all.toString('latin1', at + 4, at + 5), all.subarray(at + headBytes, at + needed))
      at += needed
    }
    waiting = [all.subarray(at)]
    length = all.length - at
  }
}

export function takeDirectory(record: Buffer, onDirectory: HelperCopy['onDirectory']): void {
  const [isWhole, pathBytes, count, nameBytes, leftBytes] = [0, 4, 8, 12, 16].map((at) => record.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  let at = 20
  const next = (bytes: number): string => record.toString('latin1', at, (at += bytes))
  const print = next(printBytes)
  const path = next(pathBytes)
  const names = split(next(nameBytes))
  const all = next(count * printBytes)
  const prints = Array.from({ length: count }, (_, index) => all.slice(index * printBytes, (index + 1) * printBytes))
  onDirectory(path, { print, names, prints, left: split(next(leftBytes)), inside: [] }, isWhole === 1)
}

const split = (names: string): string[] => (names === '' ? [] : names.split('/'))

const countsIn = (record: Buffer): Counts => ({
  files: Number(record.readBigUInt64LE(0)),
  bytes: Number(record.readBigUInt64LE(8)),
  reflinked: Number(record.readBigUInt64LE(16)),
})
