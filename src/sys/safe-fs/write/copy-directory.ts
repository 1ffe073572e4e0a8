import * as fs from 'node:fs'
import { hostFs } from '../../fs/host-fs.ts'
import { chownLike } from '../../copy/chown-like.ts'
import { copyContent } from './copy-content.ts'
import { at, directoryFlags, display, identity, mountId, type Name, namingFlags, readFlags } from '../descriptors.ts'
import { refusal } from '../errors.ts'
import { type DirectoryStack, openDirectoryStack } from '../directory-stack.ts'
import { readNames } from '../read/list.ts'
import { chownLikeParent, makeDirectory } from './make-directory.ts'
import { removeSteps } from './remove.ts'
import { newTemporaryName } from './staged.ts'
import type { Root } from '../root.ts'
import { runToCompletion } from '../coroutine.ts'
import type { ResolvedEntry } from '../resolved-entry.ts'
import { copyAttributes } from '../read/xattr.ts'

interface Copying {
  readonly root: Root
  readonly from: DirectoryStack
  readonly to: DirectoryStack
  /** The copy itself, which must not be copied. */
  readonly copy: string
  readonly left: Name[][]
}

/** The copy grows under a temporary name and appears when it is whole. */
export function copyDirectory(root: Root, old: ResolvedEntry, entry: ResolvedEntry): void {
  const temporary = newTemporaryName()
  makeDirectory(root, entry.dir, temporary, 0o700)
  try {
    fillDirectory(root, old, entry.dir, temporary)
    hostFs.renameNoReplaceSync(at(entry.dir, temporary), at(entry.dir, entry.name))
  } catch (error) {
    runToCompletion(removeSteps(entry.dir, temporary, temporary))
    throw error
  }
}

function fillDirectory(root: Root, old: ResolvedEntry, dir: number, temporary: string): void {
  const base = old.fd ?? root.fd
  const state: Copying = {
    root,
    from: openDirectoryStack(base),
    to: openDirectoryStack(dir),
    copy: '',
    left: [readNames(base)],
  }
  try {
    const top = fs.openSync(at(dir, temporary), directoryFlags)
    state.to.push(temporary, top)
    const copying = { ...state, copy: identity(top) }
    for (let names = state.left.at(-1); names; names = state.left.at(-1)) {
      const name = names.pop()
      if (name === undefined) leave(copying)
      else copyEntry(copying, name)
    }
  } finally {
    state.from[Symbol.dispose]()
    state.to[Symbol.dispose]()
  }
}

/** A directory gets its mode when it is full: it may be one that cannot be written to. */
function leave(state: Copying): void {
  const [from, to] = [state.from.top(), state.to.top()]
  const reading = fs.openSync(at(to), readFlags | fs.constants.O_DIRECTORY)
  try {
    copyDirectoryAttributes(from, reading)
    hostFs.fchmodSync(reading, fs.fstatSync(from).mode & 0o3777)
  } finally {
    fs.closeSync(reading)
  }
  state.left.pop()
  state.from.pop()
  state.to.pop()
}

function copyDirectoryAttributes(from: number, to: number): void {
  const fd = fs.openSync(at(from), readFlags | fs.constants.O_DIRECTORY)
  try {
    copyAttributes(fd, to)
  } finally {
    fs.closeSync(fd)
  }
}

function copyEntry(state: Copying, name: Name): void {
  const fd = fs.openSync(at(state.from.top(), name), namingFlags)
  const path = [...state.from.names, name].map(display).join('/')
  let entered = false
  try {
    const stats = fs.fstatSync(fd)
    if (mountId(fd) !== state.root.mount) throw refusal('path_outside_workspace', path)
    if (stats.isDirectory()) entered = enter(state, name, fd)
    else if (stats.isSymbolicLink()) copyLink(state, name)
    else if (stats.isFile()) copyFile(state, name, { fd, stats })
    else throw refusal('not_a_file', path)
  } finally {
    if (!entered) fs.closeSync(fd)
  }
}

function enter(state: Copying, name: Name, fd: number): boolean {
  if (identity(fd) === state.copy) return false
  const to = state.to.top()
  makeDirectory(state.root, to, name, 0o700)
  state.to.push(name, fs.openSync(at(to, name), directoryFlags))
  state.from.push(name, fd)
  state.left.push(readNames(fd))
  return true
}

function copyLink(state: Copying, name: Name): void {
  const path = at(state.to.top(), name)
  hostFs.symlinkSync(fs.readlinkSync(at(state.from.top(), name), { encoding: 'buffer' }), path)
  chownLike(at(state.to.top(), '.'), path)
}

function copyFile(state: Copying, name: Name, old: { fd: number; stats: fs.Stats }): void {
  const dir = state.to.top()
  const fd = hostFs.createSync(at(dir, name), 0o600)
  try {
    fillFrom(old, fd)
    chownLikeParent(dir, fd)
    hostFs.fchmodSync(fd, old.stats.mode & 0o777)
  } finally {
    fs.closeSync(fd)
  }
}

/** Content and attributes, from a naming descriptor of a regular file into an open file. Shares blocks if it can. */
export function fillFrom(old: { fd: number | undefined }, to: number): void {
  if (old.fd === undefined) return
  copyContent(old.fd, to)
  const from = fs.openSync(at(old.fd), readFlags)
  try {
    copyAttributes(from, to)
  } finally {
    fs.closeSync(from)
  }
}
