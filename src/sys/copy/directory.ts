import * as fs from 'node:fs'
import type { FolderRules, Verdict } from '../../domain/sources/folder-rules.ts'
import { applyOwnerAndMode, isLocked, modeOf } from './attributes.ts'
import { delegateCopy, resumeState } from './delegate.ts'
import type { Found } from './entry.ts'
import { type Frame, pathsOf, record, skipUnreadable, type State, trustedFingerprint } from './state.ts'
import { makeDirectory, prepareTarget, removeFromTarget } from './target.ts'
import { hostFs } from '../fs/host-fs.ts'
import { type Native, native } from '../syscalls/native.ts'
import { readUserRules } from './read-rules.ts'
import { at, readFlags } from '../safe-fs/descriptors.ts'
import { atBytes, nodeName } from '../trees/names.ts'
import { isSame, kindOf, statEntry, type StatFingerprint } from '../trees/stat.ts'

/** Going into the directories of a source, and out of them again. */

export interface FoundDirectory extends Found {
  readonly verdict: Verdict
}

export async function enterTop(state: State, top: FoundDirectory): Promise<void> {
  if (await delegateCopy(state)) return resumeTop(state, top)
  const { before, rules } = state.options
  const known = before === undefined || before === 'unknown' ? '' : before.top
  open(state, top, (names) => {
    const frame = frameOf(top, '', before === undefined ? undefined : known)
    state.frames.push({ ...frame, left: names, before: beforeOf(state, frame), rules: rules?.(readUserRules(top.fd)) })
    if (frame.differs) prepareTarget(state)
  })
}

function resumeTop(state: State, top: FoundDirectory): void {
  const begun = state.begun.get('')
  if (begun === undefined) state.options.index?.addTop(trustedFingerprint(state, top.print))
  else state.frames.push({ ...frameOf(top, '', undefined), ...resumeState(begun) })
}

/** Goes on where another has begun. False if that is not to be had; nothing of it is left then. */
async function resume(state: State, above: Frame, found: FoundDirectory): Promise<boolean> {
  const { name, fd, print } = found
  const begun = state.begun.get(`${above.path}${name}`)
  if (begun === undefined) return false
  if (!isSame(begun.print, print)) {
    await removeFromTarget(state, above, name)
    return false
  }
  state.to.push(nodeName(name))
  state.from.push(nodeName(name), fd)
  const frame = frameOf({ ...found, print: begun.print }, `${above.path}${name}/`, undefined)
  state.frames.push({ ...frame, ...resumeState(begun) })
  return true
}

/** False if it may not be read. Else the descriptor is taken over. */
export async function enter(state: State, above: Frame, found: FoundDirectory): Promise<boolean> {
  if (await resume(state, above, found)) return true
  const { name, fd, print, verdict } = found
  const known = above.before.get(name)
  const isThere = known !== undefined && (known === print || isDirectory(state, name))
  if (!isThere && (await removeFromTarget(state, above, name))) state.changed += 1
  return open(state, found, (names, opened) => {
    const frame = frameOf(found, `${above.path}${name}/`, isThere ? known : undefined)
    if (frame.copy === 'open') {
      prepareTarget(state)
      makeDirectory(atBytes(state.to.top(), name))
      state.changed += 1
    }
    state.to.push(nodeName(name))
    state.from.push(nodeName(name), fd)
    const rules = above.rules && rulesBelow(above.rules, found, names)
    state.frames.push({ ...frame, left: names, opened, before: beforeOf(state, frame), rules })
    // It may be one that its owner could not enter when it was copied.
    if (frame.differs && verdict === 'in') prepareTarget(state)
  })
}

/** Of the directory that holds the one thing to be copied. */
export const parentFrame = (directory: FoundDirectory): Frame => frameOf(directory, '', undefined)

/** @param known what it was when its copy was made; undefined if there is none */
function frameOf(
  { name, print, stat, verdict }: FoundDirectory,
  path: string,
  known: StatFingerprint | undefined,
): Frame {
  const isPerhaps = verdict === 'perhaps'
  return {
    name,
    path,
    left: [],
    stat,
    print,
    opened: false,
    rules: undefined,
    isPerhaps,
    before: new Map(),
    differs: known !== undefined && known !== print,
    names: [],
    prints: [],
    copy: known !== undefined ? 'kept' : isPerhaps ? 'missing' : 'open',
  }
}

/** Of where we are. */
function beforeOf(state: State, { copy, path }: Frame): Map<string, StatFingerprint> {
  const { before } = state.options
  if (before === undefined || copy !== 'kept') return new Map()
  return before === 'unknown' ? new Map(namesIn(state.to.top()).map((name) => [name, ''])) : before.below(path)
}

function rulesBelow(above: FolderRules, { name, fd, verdict }: FoundDirectory, names: readonly string[]): FolderRules {
  const hasFiles = names.includes('.gitignore') || names.includes('.git')
  return above.below(name, verdict, hasFiles ? readUserRules(fd) : () => undefined)
}

function isDirectory(state: State, name: string): boolean {
  const there = statEntry(state.to.top(), name)
  return there !== undefined && kindOf(there.print) === 'directory'
}

function namesIn(fd: number): string[] {
  const calls = native()
  if (calls === undefined) return fs.readdirSync(at(fd), 'latin1')
  const listed = fs.openSync(at(fd), readFlags | fs.constants.O_DIRECTORY)
  try {
    return readNames(calls, listed)
  } finally {
    fs.closeSync(listed)
  }
}

const records = Buffer.alloc(128 * 1024)
const headerBytes = 19

/** As the kernel lists them: what Node takes longest for is to make paths and types of them. */
function readNames(calls: Native, fd: number): string[] {
  const names: string[] = []
  for (let filled = calls.getdents64(fd, records); filled > 0; filled = calls.getdents64(fd, records)) {
    const text = records.toString('latin1', 0, filled)
    for (let start = 0; start < filled; start += records.readUInt16LE(start + 16)) {
      const name = text.slice(start + headerBytes, text.indexOf('\0', start + headerBytes))
      if (name !== '.' && name !== '..') names.push(name)
    }
  }
  return names
}

/** @param descend is given the names, the next one last */
function open(
  state: State,
  { name, fd, stat }: FoundDirectory,
  descend: (names: string[], opened: boolean) => void,
): boolean {
  const opened = isLocked(state.whose, stat, 0o500)
  if (opened) hostFs.chmodSync(at(fd), modeOf(stat) | 0o700)
  try {
    const names = skipUnreadable(state, name, () => namesIn(fd))
    if (names === undefined) return false
    descend(names.reverse(), opened)
    return true
  } catch (error) {
    if (opened) hostFs.chmodSync(at(fd), modeOf(stat))
    throw error
  }
}

/** A directory is dressed when it is full: it may be one that cannot be written to. */
export async function leave(state: State, frame: Frame): Promise<void> {
  const { name, path, print, before, names, prints, isPerhaps, differs } = frame
  const isThere = !isPerhaps || frame.copy === 'open' || names.length > 0
  if (isThere) {
    for (const gone of before.keys()) if (await removeFromTarget(state, frame, gone)) state.changed += 1
    if (differs) {
      prepareTarget(state)
      state.changed += 1
    }
    if (frame.copy === 'open') applyAttributesHere(state, frame)
  }
  if (frame.opened) hostFs.chmodSync(at(state.from.top()), modeOf(frame.stat))
  state.frames.pop()
  state.from.pop()
  state.to.pop()
  if (!isThere) return
  state.options.index?.add(path, names, prints)
  const above = state.frames.at(-1)
  above?.before.delete(name)
  if (above !== undefined) record(state, above, name, print)
  else state.options.index?.addTop(trustedFingerprint(state, print))
}

function applyAttributesHere(state: State, { stat }: Frame): void {
  const from = openToRead(state.from.top())
  const to = fs.openSync(at(state.to.top()), readFlags | fs.constants.O_DIRECTORY)
  try {
    applyOwnerAndMode(state.whose, { from, to, stat, paths: pathsOf(state, '.') }, state.frames.length === 1)
  } finally {
    fs.closeSync(to)
    if (from !== undefined) fs.closeSync(from)
  }
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
export function abandon(state: State): void {
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
