import { isUtf8 } from 'node:buffer'
import * as fs from 'node:fs'
import { belowRoot, foldName, type ParsedPath, splitPath } from '../../domain/paths.ts'
import { at, directoryFlags, display, errnoOf, identity, mountId, type Name, namingFlags } from './descriptors.ts'
import { refusal, translate } from './errors.ts'
import { type DirectoryStack, openDirectoryStack } from './directory-stack.ts'
import { makeDirectory } from './write/make-directory.ts'
import type { Root } from './root.ts'
import type { ResolvedEntry, WalkOptions } from './resolved-entry.ts'
import { unlock } from '../trees/unlock.ts'

interface Walk {
  readonly root: Root
  readonly path: string
  readonly levels: DirectoryStack
  /** What is still to be walked, the next one last. */
  readonly pending: { name: Name; fromLink: boolean }[]
  readonly options: WalkOptions
  /** Objects that must not be on the path; undefined if there are none to look for. */
  readonly forbidden: ReadonlySet<string> | undefined
  links: number
  directory: boolean
  retries: number
}

const maxLinks = 40
const maxRetries = 64

/**
 * Resolves a path one name at a time from the root's descriptor. Each step opens one name in an open directory without
 * following a link; links are read and walked here, `..` goes back to the directory that was come from. At no time does
 * the kernel see more than one name, so nothing that is swapped can lead it elsewhere. Mounts: what is below a foreign
 * mount is on that mount too, so looking at where the walk ends is enough.
 */
function walk(root: Root, parsed: ParsedPath, options: WalkOptions): ResolvedEntry {
  const state: Walk = {
    root,
    path: parsed.names.join('/'),
    levels: openDirectoryStack(root.fd),
    pending: parsed.names.map((name) => ({ name, fromLink: false })).reverse(),
    options,
    forbidden: options.change && root.protect.size > 0 ? root.protectedObjects() : undefined,
    links: 0,
    directory: parsed.directory,
    retries: 0,
  }
  try {
    return finish(state, run(state))
  } catch (error) {
    state.levels[Symbol.dispose]()
    throw translate(error, state.path)
  }
}

interface End {
  readonly absent?: Name
  readonly rest?: readonly Name[]
}

function run(state: Walk): End {
  for (;;) {
    const next = state.pending.pop()
    if (next === undefined) return {}
    if (next.name === '..') climb(state, next.fromLink)
    else {
      const end = state.pending.length === 0 ? lastStep(state, next.name) : step(state, next.name)
      if (end) return end
    }
  }
}

function climb(state: Walk, fromLink: boolean): void {
  if (state.levels.names.length === 0) {
    throw refusal(fromLink ? 'symlink_outside_workspace' : 'path_traversal_attempt', state.path)
  }
  state.levels.pop()
}

function step(state: Walk, name: Name): End | undefined {
  const dir = state.levels.top()
  try {
    enter(state, name, fs.openSync(at(dir, name), directoryFlags))
    return undefined
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return missing(state, name, error)
    if (errno !== 'ENOTDIR' && errno !== 'ELOOP') throw error
  }
  followLink(state, dir, name)
  return undefined
}

/** Like the others, but it may be anything, or nothing. */
function lastStep(state: Walk, name: Name): End | undefined {
  const dir = state.levels.top()
  let fd: number
  try {
    fd = fs.openSync(at(dir, name), namingFlags)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return { absent: name }
    throw error
  }
  if (state.options.follow && fs.fstatSync(fd).isSymbolicLink()) {
    fs.closeSync(fd)
    followLink(state, dir, name)
    return undefined
  }
  enter(state, name, fd)
  return undefined
}

function enter(state: Walk, name: Name, fd: number): void {
  const first = state.levels.names.length === 0
  state.levels.push(name, fd)
  if (first) checkName(state, display(name))
  if (state.forbidden?.has(identity(fd))) throw refusal('path_protected', state.path)
}

function missing(state: Walk, name: Name, cause: unknown): End | undefined {
  const dir = state.levels.top()
  checkMount(state, dir)
  if (state.options.missing === 'answer') {
    return { absent: name, rest: state.pending.map((part) => part.name).reverse() }
  }
  if (state.options.missing !== 'make') throw refusal('file_not_found', state.path, { cause })
  if (state.levels.names.length === 0) checkName(state, display(name))
  using _ = state.options.unlock ? unlock(dir, 0o300) : undefined
  if (!makeDirectory(state.root, dir, name)) return again(state, name)
  state.pending.push({ name, fromLink: false })
  return undefined
}

function followLink(state: Walk, dir: number, name: Name): void {
  let target: Buffer
  try {
    target = fs.readlinkSync(at(dir, name), { encoding: 'buffer' })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno !== 'EINVAL' && errno !== 'ENOENT') throw error
    // Not a link. Or it was one an instant ago, or is gone: then another look tells.
    const last = state.pending.length === 0
    if (errno === 'EINVAL' && !last && !isDirectory(at(dir, name))) throw refusal('not_a_directory', state.path)
    again(state, name)
    return
  }
  if (++state.links > maxLinks) throw refusal('cannot_resolve_symlinks', state.path)
  const names = splitTarget(target)
  const text = target.toString()
  if (state.pending.length === 0 && /(^|\/)\.?$/.test(text)) state.directory = true
  if (!text.startsWith('/')) {
    push(state, names)
    return
  }
  const below = belowRoot(names.map(display), state.root.paths)
  if (!below) throw refusal('symlink_outside_workspace', state.path)
  state.levels.clear()
  push(state, names.slice(names.length - below.length))
}

function push(state: Walk, names: readonly Name[]): void {
  for (const name of names.toReversed()) state.pending.push({ name, fromLink: true })
}

function splitTarget(target: Buffer): Name[] {
  if (isUtf8(target)) return splitPath(target.toString())
  return splitPath(target.toString('latin1')).map((name) => (name === '..' ? name : Buffer.from(name, 'latin1')))
}

const isDirectory = (path: string | Buffer): boolean =>
  fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? true

/** Something changed under our feet. Someone who changes it for ever gets a refusal. */
function again(state: Walk, name: Name): undefined {
  if (++state.retries > maxRetries) throw refusal('cannot_resolve_symlinks', state.path)
  state.pending.push({ name, fromLink: false })
}

function checkMount(state: Walk, fd: number): void {
  if (mountId(fd) !== state.root.mount) throw refusal('path_outside_workspace', state.path)
}

function checkName(state: Walk, first: string | undefined): void {
  if (state.forbidden && first !== undefined && state.root.protect.has(foldName(first))) {
    throw refusal('path_protected', state.path)
  }
}

function finish(state: Walk, end: End): ResolvedEntry {
  const { levels } = state
  const exists = end.absent === undefined
  const names = [...levels.names, ...(exists ? [] : [end.absent])].map(display)
  checkName(state, names[0])
  const fd = exists ? levels.top() : undefined
  checkMount(state, fd ?? levels.top())
  const stats = fd === undefined ? undefined : fs.fstatSync(fd)
  if (state.directory && stats && !stats.isDirectory()) throw refusal('not_a_directory', state.path)
  return {
    dir: exists ? levels.above() : levels.top(),
    name: end.absent ?? levels.names.at(-1) ?? '',
    fd,
    stats,
    names,
    rest: (end.rest ?? []).map(display),
    [Symbol.dispose]: () => levels[Symbol.dispose](),
  }
}

/** Walks, acts, and closes everything again. */
export function withResolvedEntry<T>(
  root: Root,
  parsed: ParsedPath,
  options: WalkOptions,
  act: (entry: ResolvedEntry) => T,
): T {
  const entry = walk(root, parsed, options)
  try {
    return act(entry)
  } finally {
    entry[Symbol.dispose]()
  }
}
