import * as fs from 'node:fs'
import type { ImportReport, SkipReason } from '../ports/storage-driver.ts'
import { dress, dressUnopened, isLocked, makeNode, modeOf } from './copy-attributes.ts'
import { type CopyOptions, identityOf, pathsOf, pause, reading, skip, type State, type Frame } from './copy-state.ts'
import { hostFs } from './host-fs.ts'
import { hasCode } from './errno.ts'
import { contentSteps, shareBlocks } from './safe-fs/copy-content.ts'
import { at, directoryFlags, mountId, type Name, namingFlags, readFlags } from './safe-fs/descriptors.ts'
import { openFrom, openLevels } from './safe-fs/levels.ts'
import { readNames } from './safe-fs/list.ts'
import { openPart } from './trees/part.ts'

/**
 * Copies a folder's tree into a directory that only we can reach, made if it is missing. The source may change while it
 * is read, so it is walked by descriptors, each thing is opened only when it is known what it is, and no link is ever
 * followed. Sockets, pipes, devices and what is mounted in it are left out and reported. Names are bytes: they need not
 * be text. Neither the depth of the tree nor the size of a file matters to others who work in this process.
 *
 * A tree of our own is copied exactly. What its owner may not read is made readable for the moment (a directory for as
 * long as it is walked): a process that is killed then leaves the source so, open to nobody but its owner.
 */
export async function copyTree(from: string, to: string, options: CopyOptions): Promise<ImportReport> {
  const part = openPart(from, options.path ?? '.')
  try {
    makeDirectory(to)
    const target = fs.openSync(to, directoryFlags)
    try {
      const report = await copyAll(part.fd, target, options, part.only)
      return part.only === undefined ? report : { ...report, single: true }
    } finally {
      fs.closeSync(target)
    }
  } finally {
    fs.closeSync(part.fd)
  }
}

async function copyAll(
  source: number,
  target: number,
  options: CopyOptions,
  only: Name | undefined,
): Promise<ImportReport> {
  const state: State = {
    options,
    target,
    mount: mountId(source),
    from: openLevels(source),
    to: openLevels(target),
    frames: [],
    links: new Map(),
    skipped: [],
    whose: { uid: process.getuid?.() ?? 0, own: options.own === true },
    sharing: true,
    files: 0,
    bytes: 0,
    reflinked: 0,
    breath: performance.now(),
  }
  try {
    if (only === undefined) openFrame(state, '.', source, fs.fstatSync(source, { bigint: true }), () => undefined)
    else await copyEntry(state, only)
    for (let frame = state.frames.at(-1); frame; frame = state.frames.at(-1)) {
      await pause(state)
      const name = frame.left.pop()
      if (name === undefined) leave(state, frame)
      else await copyEntry(state, name)
    }
    const { files, bytes, reflinked, skipped } = state
    return { files, bytes, reflinked, skipped }
  } finally {
    abandon(state)
  }
}

async function copyEntry(state: State, name: Name): Promise<void> {
  const fd = reading(state, name, () => fs.openSync(at(state.from.top(), name), namingFlags))
  if (fd === undefined) return
  let entered = false
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    const reason = reasonToSkip(state, fd, stat)
    if (reason !== undefined) skip(state, name, reason)
    else if (stat.isDirectory()) entered = enter(state, name, fd, stat)
    else if (stat.isSymbolicLink()) copyLink(state, name, stat)
    else if (!stat.isFile()) copyNode(state, name, stat)
    else await copyFile(state, name, fd, stat)
  } finally {
    if (!entered) fs.closeSync(fd)
  }
}

function reasonToSkip(state: State, fd: number, stat: fs.BigIntStats): SkipReason | undefined {
  if (state.options.guarded?.has(identityOf(stat))) return 'guarded'
  if (mountId(fd) !== state.mount) return 'mount'
  if (state.options.own || stat.isFile() || stat.isDirectory() || stat.isSymbolicLink()) return undefined
  return reasonOf(stat)
}

const reasonOf = (stat: fs.BigIntStats): SkipReason => (stat.isFIFO() ? 'fifo' : stat.isSocket() ? 'socket' : 'device')

function enter(state: State, name: Name, fd: number, stat: fs.BigIntStats): boolean {
  return openFrame(state, name, fd, stat, () => {
    const path = at(state.to.top(), name)
    makeDirectory(path)
    state.to.push(name, fs.openSync(path, directoryFlags))
    state.from.push(name, fd)
  })
}

/** False if the directory may not be read. */
function openFrame(state: State, name: Name, fd: number, stat: fs.BigIntStats, descend: () => void): boolean {
  const opened = isLocked(state.whose, stat, 0o500)
  if (opened) hostFs.chmodSync(at(fd), modeOf(stat) | 0o700)
  try {
    const names = reading(state, name, () => readNames(fd))
    if (names === undefined) return false
    descend()
    state.frames.push({ left: names.reverse(), stat, opened })
    return true
  } catch (error) {
    if (opened) hostFs.chmodSync(at(fd), modeOf(stat))
    throw error
  }
}

/** A directory is dressed when it is full: it may be one that cannot be written to. */
function leave(state: State, { stat, opened }: Frame): void {
  const source = state.from.top()
  const [from, to] = [openToRead(source), fs.openSync(at(state.to.top()), readFlags | fs.constants.O_DIRECTORY)]
  try {
    dress(state.whose, { from, to, stat, paths: pathsOf(state, '.') }, state.frames.length === 1)
  } finally {
    fs.closeSync(to)
    if (from !== undefined) fs.closeSync(from)
  }
  if (opened) hostFs.chmodSync(at(source), modeOf(stat))
  state.frames.pop()
  state.from.pop()
  state.to.pop()
}

/** Undefined if it may not be read any more: then its attributes are not to be had. */
function openToRead(fd: number): number | undefined {
  try {
    return fs.openSync(at(fd), readFlags)
  } catch {
    return undefined
  }
}

/** After a failure; else there is nothing left to do. */
function abandon(state: State): void {
  for (const { opened, stat } of state.frames.toReversed()) {
    try {
      if (opened) hostFs.chmodSync(at(state.from.top()), modeOf(stat))
    } catch {
      // It is gone, or not ours any more; the failure that brought us here is the one to tell.
    }
    state.from.pop()
  }
  state.from[Symbol.dispose]()
  state.to[Symbol.dispose]()
}

function makeDirectory(path: string | Buffer): void {
  try {
    hostFs.mkdirSync(path, 0o700)
  } catch (error) {
    // The profile's own directories are there before the source is.
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

async function copyFile(state: State, name: Name, named: number, stat: fs.BigIntStats): Promise<void> {
  if (stat.nlink > 1n && linkToTwin(state, name, stat)) return
  const fd = openFile(state, name, named, stat)
  if (fd === undefined) return
  try {
    const to = hostFs.createSync(at(state.to.top(), name), 0o600)
    try {
      if (state.sharing && shareBlocks(fd, to)) state.reflinked += 1
      else {
        state.sharing = false
        for (const _ of contentSteps(fd, to)) await pause(state)
      }
      dress(state.whose, { from: fd, to, stat, paths: pathsOf(state, name) })
    } finally {
      fs.closeSync(to)
    }
  } finally {
    fs.closeSync(fd)
  }
  if (stat.nlink > 1n) state.links.set(identityOf(stat), [...state.from.names, name])
  state.files += 1
  state.bytes += Number(stat.size)
}

function openFile(state: State, name: Name, named: number, stat: fs.BigIntStats): number | undefined {
  const open = (): number => fs.openSync(at(named), readFlags)
  if (!isLocked(state.whose, stat, 0o400)) return reading(state, name, open)
  hostFs.chmodSync(at(named), modeOf(stat) | 0o400)
  try {
    return reading(state, name, open)
  } finally {
    hostFs.chmodSync(at(named), modeOf(stat))
  }
}

/** False if it has none in the copy yet, or the way to it is closed: then it is copied. */
function linkToTwin(state: State, name: Name, stat: fs.BigIntStats): boolean {
  const twin = state.links.get(identityOf(stat))
  if (twin === undefined) return false
  let directory = state.target
  try {
    directory = openFrom(state.target, twin.slice(0, -1))
    hostFs.linkSync(at(directory, twin.at(-1) ?? ''), at(state.to.top(), name))
    return true
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EMLINK')) return false
    throw error
  } finally {
    if (directory !== state.target) fs.closeSync(directory)
  }
}

function copyLink(state: State, name: Name, stat: fs.BigIntStats): void {
  if (stat.nlink > 1n && linkToTwin(state, name, stat)) return
  const text = reading(state, name, () => fs.readlinkSync(at(state.from.top(), name), { encoding: 'buffer' }))
  if (text === undefined) return
  const paths = pathsOf(state, name)
  hostFs.symlinkSync(text, paths[1])
  dressUnopened(state.whose, { paths, stat })
  if (stat.nlink > 1n) state.links.set(identityOf(stat), [...state.from.names, name])
}

function copyNode(state: State, name: Name, stat: fs.BigIntStats): void {
  if (stat.nlink > 1n && linkToTwin(state, name, stat)) return
  const paths = pathsOf(state, name)
  if (!makeNode(paths[1], stat)) {
    skip(state, name, reasonOf(stat))
    return
  }
  dressUnopened(state.whose, { paths, stat })
  if (stat.nlink > 1n) state.links.set(identityOf(stat), [...state.from.names, name])
}
