import * as fs from 'node:fs'
import type { SkipReason } from '../../ports/storage-driver.ts'
import { applyOwnerAndMode, applyToUnopened, isLocked, makeNode, modeOf } from './attributes.ts'
import { isFirst, linkToCopiedFile, noteCopiedLink } from './links.ts'
import { type Frame, pathsOf, record, skip, skipUnreadable, type State, yieldAndReport } from './state.ts'
import { prepareTarget, removeFromTarget } from './target.ts'
import { hostFs } from '../fs/host-fs.ts'
import { contentSteps, shareBlocks } from '../safe-fs/write/copy-content.ts'
import { at, readFlags } from '../safe-fs/descriptors.ts'
import type { StatFingerprint } from '../trees/stat.ts'

/** Something of the source that is no directory, under an open descriptor that only names it. */
export interface Found {
  readonly name: string
  readonly fd: number
  /** As it was before anything of it is read. */
  readonly print: StatFingerprint
  readonly stat: fs.BigIntStats
}

/** Puts it into the copy, in the place of what is there under its name. */
export async function copyEntry(state: State, frame: Frame, found: Found): Promise<void> {
  const isReplaced = await removeFromTarget(state, frame, found.name)
  prepareTarget(state)
  const made = linkToCopiedFile(state, found.name, found.print) ?? (await copyAlone(state, found))
  if (made !== undefined) record(state, frame, found.name, made)
  if (made !== undefined || isReplaced) state.changed += 1
}

/** Answers what it was; undefined if it could not be copied. */
async function copyAlone(state: State, found: Found): Promise<StatFingerprint | undefined> {
  const { name, print, stat } = found
  const isMade = stat.isFile()
    ? await copyFile(state, found)
    : stat.isSymbolicLink()
      ? copyLink(state, found)
      : copyNode(state, found)
  if (!isMade) return undefined
  noteCopiedLink(state, name, print)
  return print
}

async function copyFile(state: State, { name, fd: named, print, stat }: Found): Promise<boolean> {
  const fd = openFile(state, name, named, stat)
  if (fd === undefined) return false
  try {
    await state.options.clean?.(fd, print, () => yieldAndReport(state))
    const paths = pathsOf(state, name)
    const to = hostFs.createSync(paths[1], 0o600)
    try {
      if (state.sharing && shareBlocks(fd, to)) state.reflinked += 1
      else {
        state.sharing = false
        for (const _ of contentSteps(fd, to)) await yieldAndReport(state)
      }
      applyOwnerAndMode(state.whose, { from: fd, to, stat, paths })
    } finally {
      fs.closeSync(to)
    }
  } finally {
    fs.closeSync(fd)
  }
  if (isFirst(state, print)) {
    state.files += 1
    state.bytes += Number(stat.size)
  }
  return true
}

function openFile(state: State, name: string, named: number, stat: fs.BigIntStats): number | undefined {
  const open = (): number => fs.openSync(at(named), readFlags)
  if (!isLocked(state.whose, stat, 0o400)) return skipUnreadable(state, name, open)
  hostFs.chmodSync(at(named), modeOf(stat) | 0o400)
  try {
    return skipUnreadable(state, name, open)
  } finally {
    hostFs.chmodSync(at(named), modeOf(stat))
  }
}

function copyLink(state: State, { name, stat }: Found): boolean {
  const paths = pathsOf(state, name)
  const text = skipUnreadable(state, name, () => fs.readlinkSync(paths[0], { encoding: 'buffer' }))
  if (text === undefined) return false
  hostFs.symlinkSync(text, paths[1])
  applyToUnopened(state.whose, { paths, stat })
  return true
}

function copyNode(state: State, { name, stat }: Found): boolean {
  const paths = pathsOf(state, name)
  if (makeNode(paths[1], stat)) {
    applyToUnopened(state.whose, { paths, stat })
    return true
  }
  skip(state, name, reasonOf(stat))
  return false
}

export const reasonOf = (stat: fs.BigIntStats): SkipReason =>
  stat.isFIFO() ? 'fifo' : stat.isSocket() ? 'socket' : 'device'
