import * as fs from 'node:fs'
import type { ImportReport, SkipReason } from '../../ports/storage-driver.ts'
import { abandon, enter, enterTop, leave, parentFrame } from './directory.ts'
import { copyEntry, reasonOf } from './entry.ts'
import { isForeignGit } from './git-link.ts'
import { hasCopiedLink, isFirst, noteKeptLink } from './links.ts'
import {
  type CopyOptions,
  type Frame,
  identityOf,
  record,
  skip,
  skipUnreadable,
  type State,
  yieldAndReport,
} from './state.ts'
import { makeDirectory } from './target.ts'
import { monotonicMs } from '../home/monotonic.ts'
import { directoryFlags, namingFlags } from '../safe-fs/descriptors.ts'
import { openDirectoryStack } from '../safe-fs/directory-stack.ts'
import { atBytes } from '../trees/names.ts'
import { openSubpath } from '../trees/open-subpath.ts'
import { kindOf, sizeIn, statEntry, type StatResult } from '../trees/stat.ts'

/**
 * Copies a folder's tree into a directory that only we can reach, made if it is missing. The source may change while it
 * is read, so it is walked by descriptors, each thing is opened only when it is known what it is, and no link is ever
 * followed. Sockets, pipes, devices and what is mounted in it are left out and reported. Names are bytes: they need not
 * be text. Neither the depth of the tree nor the size of a file matters to others who work in this process.
 *
 * What root copies belongs to the owner of the directory that it is copied into.
 *
 * A tree of our own is copied exactly. What its owner may not read is made readable for the moment (a directory for as
 * long as it is walked): a process that is killed then leaves the source so, open to nobody but its owner.
 *
 * With `before`, the copy is there and becomes what a new one would be: all of the source is looked at, what the kernel
 * tells the same about as before stays, everything else is copied again, and what was not met is removed.
 */
export async function copyTree(from: string, to: string, options: CopyOptions): Promise<ImportReport> {
  const part = openSubpath(from, options.path ?? '.')
  try {
    makeDirectory(to)
    const target = fs.openSync(to, directoryFlags)
    try {
      const only = part.only === undefined ? undefined : Buffer.from(part.only).toString('latin1')
      const report = await copyAll(part.fd, target, options, only)
      return only === undefined ? report : { ...report, single: true }
    } finally {
      fs.closeSync(target)
    }
  } finally {
    fs.closeSync(part.fd)
  }
}

async function copyAll(source: number, target: number, options: CopyOptions, only?: string): Promise<ImportReport> {
  const { print, mount } = statOpen(source)
  const state: State = {
    options,
    source,
    target,
    mount,
    from: openDirectoryStack(source),
    to: openDirectoryStack(target),
    frames: [],
    links: new Map(),
    kept: new Map(),
    names: new Map(),
    skipped: [],
    whose: {
      uid: process.getuid?.() ?? 0,
      owner: fs.fstatSync(target),
      own: options.own === true,
      where: options.where ?? 'layer',
      outward: options.outward === true,
    },
    begun: new Map(),
    sharing: true,
    files: 0,
    bytes: 0,
    reflinked: 0,
    excluded: 0,
    changed: 0,
    breath: monotonicMs(),
  }
  try {
    const top = { name: '.', fd: source, print, stat: fs.fstatSync(source, { bigint: true }), verdict: 'in' as const }
    if (only === undefined) await enterTop(state, top)
    else await copyNext(state, parentFrame(top), only)
    for (let frame = state.frames.at(-1); frame; frame = state.frames.at(-1)) {
      await yieldAndReport(state)
      const name = nextChanged(state, frame)
      if (name === undefined) await leave(state, frame)
      else if (name !== '') await copyNext(state, frame, name)
    }
    return reportOf(state, only)
  } finally {
    abandon(state)
  }
}

function reportOf(state: State, only: string | undefined): ImportReport {
  const { options, files, bytes, reflinked, skipped, excluded, changed } = state
  const isByDifference = options.before !== undefined && options.before !== 'unknown'
  const apart = linkedOutside(state, only)
  return {
    files,
    bytes,
    reflinked,
    skipped: skipped.toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    ...(options.rules && { excluded }),
    ...(isByDifference && { changed }),
    ...(apart.length > 0 && { apart }),
  }
}

/** Of a part of a tree. */
function linkedOutside({ options: { own, path = '.' }, names }: State, only: string | undefined): string[] {
  if (!own || path === '.') return []
  const above = only === undefined ? path : path.slice(0, -only.length - 1)
  const lone = [...names.values()].filter(({ links, paths }) => paths.length < links)
  return lone.flatMap(({ paths }) => paths.map((one) => (above === '' ? one : `${above}/${one}`))).toSorted()
}

/** Of what is open, so it is there. */
function statOpen(fd: number): StatResult {
  const looked = statEntry(fd, '')
  if (looked === undefined) throw Object.assign(new Error('ENOENT: statx'), { code: 'ENOENT', syscall: 'statx' })
  return looked
}

/** How much is looked at before others have their turn. */
const maxStatsPerTurn = 256

/** Passes over what stays as it is. Empty if there is more to pass over; undefined if nothing is left. */
function nextChanged(state: State, frame: Frame): string | undefined {
  for (let looks = 0; looks < maxStatsPerTurn; looks++) {
    const name = frame.left.pop()
    if (name === undefined || !isUpToDate(state, frame, name)) return name
  }
  return ''
}

async function copyNext(state: State, frame: Frame, name: string): Promise<void> {
  const fd = skipUnreadable(state, name, () => fs.openSync(atBytes(state.from.top(), name), namingFlags))
  if (fd === undefined) return
  let entered = false
  try {
    const { print, mount } = statOpen(fd)
    const stat = fs.fstatSync(fd, { bigint: true })
    const verdict = frame.rules?.verdict(name, stat.isDirectory()) ?? 'in'
    const reason = reasonToSkip(state, mount, stat) ?? (isForeignGit(state, name) ? 'foreign_git' : undefined)
    if (verdict === 'out') state.excluded += 1
    else if (reason !== undefined) skip(state, name, reason)
    else if (stat.isDirectory()) entered = await enter(state, frame, { name, fd, print, stat, verdict })
    else await copyEntry(state, frame, { name, fd, print, stat })
  } finally {
    if (!entered) fs.closeSync(fd)
  }
}

function reasonToSkip(state: State, mount: string, stat: fs.BigIntStats): SkipReason | undefined {
  if (state.options.guarded?.has(identityOf(stat))) return 'guarded'
  if (mount !== state.mount) return 'mount'
  if (state.options.own || stat.isFile() || stat.isDirectory() || stat.isSymbolicLink()) return undefined
  return reasonOf(stat)
}

/** Whether there is nothing to do about it: the copy has it as it still is. */
function isUpToDate(state: State, frame: Frame, name: string): boolean {
  const known = frame.before.get(name)
  if (known === undefined || known === '' || kindOf(known) === 'directory') return false
  const now = statEntry(state.from.top(), name)
  if (now?.print !== known || now.mount !== state.mount || hasCopiedLink(state, known)) return false
  // One that an earlier version of aw has copied goes.
  if (isForeignGit(state, name)) return false
  if (frame.rules?.verdict(name, false) === 'out') {
    state.excluded += 1
    return true
  }
  frame.before.delete(name)
  if (kindOf(known) === 'file' && isFirst(state, known)) {
    state.files += 1
    state.bytes += sizeIn(known)
  }
  noteKeptLink(state, name, known)
  record(state, frame, name, known)
  return true
}
