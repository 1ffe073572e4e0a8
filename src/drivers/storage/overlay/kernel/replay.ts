import * as fs from 'node:fs'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { walkLayer } from './changes.ts'
import { contentSteps, shareBlocks } from '../../../../sys/safe-fs/write/copy-content.ts'
import { at, directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { openFrom } from '../../../../sys/safe-fs/directory-stack.ts'
import { removeSteps } from '../../../../sys/safe-fs/write/remove.ts'
import { type Coroutine, runYielding } from '../../../../sys/safe-fs/coroutine.ts'
import { attributesText, writeAttributes } from '../../../../sys/trees/attributes.ts'
import { atBytes, nodeName } from '../../../../sys/trees/names.ts'
import { decodeStat, kindOf, statEntry, type StatFields, type StatFingerprint } from '../../../../sys/trees/stat.ts'
import { openIfUnchanged } from '../../../../sys/trees/unlock.ts'
import { type Visit, visitPaths, walkTree } from '../../../../sys/trees/walk.ts'

interface ReplayOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

interface Work {
  readonly view: number
  readonly target: number
  readonly options: ReplayOptions
  /** Where the first name of a file with several was made. */
  readonly links: Map<string, string>
  /** To be dressed when they are full. */
  readonly directories: Set<string>
  files: number
  bytes: number
}

/**
 * Makes the changes once more that layers have made to what is below them: what they name is taken from `view`, a mount of
 * the tree they belong to, and put into `target`, a mount over the same layers below. What goes away meanwhile is left
 * out; whether anything did is for the caller to find out.
 */
export async function replayChanges(
  layers: readonly string[],
  view: string,
  target: string,
  options: ReplayOptions = {},
): Promise<void> {
  const from = fs.openSync(view, directoryFlags)
  try {
    const to = fs.openSync(target, directoryFlags)
    try {
      const work: Work = {
        view: from,
        target: to,
        options,
        links: new Map(),
        directories: new Set(),
        files: 0,
        bytes: 0,
      }
      await runYielding(replayAll(layers, work), options.signal)
      options.onProgress?.({ files: work.files, bytes: work.bytes })
    } finally {
      fs.closeSync(to)
    }
  } finally {
    fs.closeSync(from)
  }
}

function* replayAll(layers: readonly string[], work: Work): Coroutine<void> {
  const copied = new Set<string>()
  for (const layer of layers) {
    const top = fs.openSync(layer, directoryFlags)
    try {
      yield* changeSteps(top, copied, work)
    } finally {
      fs.closeSync(top)
    }
  }
  copyDirectoryAttributes(work)
  copyOwnerAndMode(at(work.view, '.'), at(work.target, '.'), decodeStat(statTop(work.view)))
}

/** Where one layer covers or removes what was there, nothing of it shows, whatever the others say of it or of what is in it. */
function* changeSteps(layer: number, copied: Set<string>, work: Work): Coroutine<void> {
  for (const { path, says } of walkLayer(layer)) {
    if (copied.has(path) || isBelow(path, copied)) continue
    if (says === 'part') yield* makeDirectory(work, path)
    else {
      copied.add(path)
      yield* copyWhole(work, path)
    }
    yield
  }
}

function isBelow(path: string, tops: ReadonlySet<string>): boolean {
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1))
    if (tops.has(path.slice(0, slash))) return true
  return false
}

/** The parent of a path in the copy; undefined if it is not there. */
function withParent<T>(work: Work, path: string, use: (directory: number, name: string) => T): T | undefined {
  const names = path.split('/')
  const name = names.pop() ?? ''
  let directory: number
  try {
    directory = openFrom(work.target, names.map(nodeName))
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
  try {
    return use(directory, name)
  } finally {
    if (directory !== work.target) fs.closeSync(directory)
  }
}

function* remove(work: Work, path: string): Coroutine<void> {
  const names = path.split('/')
  const name = names.pop() ?? ''
  const parent = withParent(work, path, (directory) => fs.openSync(at(directory, '.'), directoryFlags))
  if (parent === undefined) return
  try {
    yield* removeSteps(parent, nodeName(name), path)
  } finally {
    fs.closeSync(parent)
  }
}

/** One that is there already keeps what is in it. */
function* makeDirectory(work: Work, path: string): Coroutine<void> {
  const kind = withParent(work, path, (directory, name) => statEntry(directory, name))?.print
  if (kind === undefined || kindOf(kind) !== 'directory') {
    yield* remove(work, path)
    withParent(work, path, (directory, name) => hostFs.mkdirSync(atBytes(directory, name), 0o700))
  }
  work.directories.add(path)
}

function* copyWhole(work: Work, path: string): Coroutine<void> {
  yield* remove(work, path)
  for (const visit of visitPaths(work.view, [path])) {
    yield* copyOne(work, visit)
    if (kindOf(visit.print) !== 'directory') continue
    const fd = fs.openSync(atBytes(visit.directory, visit.name), directoryFlags)
    try {
      yield* copyBelow(work, fd, `${path}/`)
    } finally {
      fs.closeSync(fd)
    }
  }
}

function* copyBelow(work: Work, top: number, prefix: string): Coroutine<void> {
  for (const visit of walkTree(top)) {
    yield* copyOne(work, { ...visit, path: prefix + visit.path })
    yield
  }
}

function* copyOne(work: Work, visit: Visit): Coroutine<void> {
  const facts = decodeStat(visit.print)
  const parent = withParent(work, visit.path, (directory) => fs.openSync(at(directory, '.'), directoryFlags))
  if (parent === undefined) return
  const target = atBytes(parent, visit.name)
  try {
    if (facts.kind === 'directory') {
      hostFs.mkdirSync(target, 0o700)
      work.directories.add(visit.path)
    } else if (!linkToTwin(work, visit, facts, target) && (yield* makeOne(work, visit, facts, target))) {
      copyOwnerAndMode(atBytes(visit.directory, visit.name), target, facts)
    }
  } catch (error) {
    // It went away while we looked.
    if (!hasCode(error, 'ENOENT')) throw error
  } finally {
    fs.closeSync(parent)
  }
}

/** False if it is not what was seen any more. */
function* makeOne(
  work: Work,
  { directory, name, print }: Visit,
  facts: StatFields,
  target: string | Buffer,
): Coroutine<boolean> {
  if (facts.kind === 'symlink') {
    hostFs.symlinkSync(fs.readlinkSync(atBytes(directory, name), { encoding: 'buffer' }), target)
    return true
  }
  if (facts.kind !== 'file') {
    hostFs.mknodSync(target, typeBits[facts.kind] | 0o600, deviceOf(facts))
    return true
  }
  const from = openIfUnchanged(directory, name, print)
  if (from === undefined) return false
  try {
    const to = hostFs.createSync(target, 0o600)
    try {
      if (!shareBlocks(from, to)) yield* contentSteps(from, to)
    } finally {
      fs.closeSync(to)
    }
  } finally {
    fs.closeSync(from)
  }
  work.files += 1
  work.bytes += facts.size
  return true
}

const { S_IFIFO, S_IFSOCK, S_IFBLK, S_IFCHR } = fs.constants
const typeBits = { fifo: S_IFIFO, socket: S_IFSOCK, block: S_IFBLK, char: S_IFCHR, directory: 0 } as const

const deviceOf = ({ major, minor }: StatFields): number =>
  ((minor & 0xff) | (major << 8) | ((minor & ~0xff) << 12)) >>> 0

function linkToTwin(work: Work, { path }: Visit, { links, identity }: StatFields, target: string | Buffer): boolean {
  if (links < 2) return false
  const first = work.links.get(identity)
  if (first === undefined) {
    work.links.set(identity, path)
    return false
  }
  return (
    withParent(work, first, (directory, name) => {
      try {
        hostFs.linkSync(atBytes(directory, name), target)
        return true
      } catch (error) {
        if (hasCode(error, 'ENOENT', 'EMLINK')) return false
        throw error
      }
    }) ?? false
  )
}

/** The deeper ones first: what is made in a directory changes its time, and may need its permission. */
function copyDirectoryAttributes(work: Work): void {
  for (const path of [...work.directories].toSorted().toReversed()) {
    for (const { directory, name, print } of visitPaths(work.view, [path])) {
      if (kindOf(print) !== 'directory') continue
      withParent(work, path, (parent, own) =>
        copyOwnerAndMode(atBytes(directory, name), atBytes(parent, own), decodeStat(print)),
      )
    }
  }
}

/** Owner, attributes, mode and times, in the order in which none undoes another. `to` is reached by nobody else. */
function copyOwnerAndMode(from: string | Buffer, to: string | Buffer, facts: StatFields): void {
  hostFs.lchownSync(to, facts.uid, facts.gid)
  writeAttributes(to, attributesText(from, 'layer'), 'layer')
  if (facts.kind !== 'symlink') hostFs.chmodSync(to, facts.mode)
  hostFs.utimesNsSync(to, facts.mtimeNs, facts.mtimeNs)
}

const statTop = (top: number): StatFingerprint => statEntry(top, '')?.print ?? ''
