import * as fs from 'node:fs'
import type { OnData } from '../../../domain/archive/content.ts'
import type { Member } from '../../../domain/archive/member.ts'
import type { Found } from '../../../domain/archive/read-member.ts'
import { archiveRefused, asText } from '../../../domain/archive/refusals.ts'
import { nameOf, openDirectories, parentOf } from '../../../sys/trees/directory-cache.ts'
import {
  applyOwnerAndMode,
  applyToOpenFile,
  type EntryAttributes,
  makeNode,
} from '../../../sys/trees/owner-and-mode.ts'
import { hasCode, ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { chownLike } from '../../../sys/copy/chown-like.ts'
import { at } from '../../../sys/safe-fs/descriptors.ts'
import type { Coroutine } from '../../../sys/safe-fs/coroutine.ts'
import { atBytes } from '../../../sys/trees/names.ts'
import { kindOf, statEntry } from '../../../sys/trees/stat.ts'
import { attributesFor } from './entry-attributes.ts'

/** Something that an archive has and the tree has not, or not all of it. */
export interface Omission {
  readonly path: string
  readonly reason: string
}

export interface MakeOptions {
  /** Everything is made as the archive says: owners, devices, setuid bits, all attributes. */
  readonly trusted: boolean
  /** A device with number 0 is not made. */
  readonly whiteouts?: 'omit' | undefined
  /** A reason to leave a path out, with all below it. It may throw, to refuse the whole archive. */
  readonly accept?: ((path: string) => string | undefined) | undefined
}

/** Makes what an archive holds below an open directory that is empty and that nobody else can reach. */
export interface TreeMaker extends Disposable {
  begin(found: Found): OnData | undefined
  end(): void
  /** Modes and times of directories: one may forbid what is still to be made in it, and what is made changes its time. */
  finish(): Coroutine<void>
  readonly files: number
  readonly skipped: readonly Omission[]
  readonly reduced: readonly Omission[]
}

interface OpenFile {
  readonly fd: number
  readonly spot: string | Buffer
  readonly looks: EntryAttributes
}

/**
 * Each entry is made under a single name in a directory that was opened name by name without following links, so that
 * nothing in the archive leads out of the tree; content goes to new files alone. What an archive can only say to do harm,
 * or what is not clear, refuses the whole of it.
 */
export function newTreeMaker(top: number, options: MakeOptions): TreeMaker {
  const directories = openDirectories(top)
  const owner = fs.fstatSync(top)
  /** Made by us, with what they are to be in the end; in the order in which they were made. */
  const dressing = new Map<string, EntryAttributes | undefined>([['.', undefined]])
  const skipped: Omission[] = []
  const reduced: Omission[] = []
  const left = new Map<string, string>()
  let open: OpenFile | undefined
  let files = 0

  const skip = (path: string, reason: string): void => {
    left.set(path, reason)
    skipped.push({ path: asText(path), reason })
  }

  /** Why a path is left out: for itself, or for a directory above it. */
  const reasonAgainst = (path: string): string | undefined => {
    if (path === '.' || dressing.has(path)) return undefined
    return left.get(path) ?? reasonAgainst(parentOf(path)) ?? options.accept?.(asText(path))
  }

  const holderOf = (path: string): number => {
    const parent = parentOf(path)
    if (!dressing.has(parent)) makeDirectory(parent)
    return directories.open(parent)
  }

  const makeDirectory = (path: string): void => {
    const place = atBytes(holderOf(path), nameOf(path))
    try {
      hostFs.mkdirSync(place, 0o700)
    } catch (error) {
      if (hasCode(error, 'EEXIST')) throw inTheWay(path)
      throw error
    }
    chownLike(at(top, '.'), place)
    // One that the archive does not tell of is as a new one would be.
    dressing.set(path, undefined)
  }

  /** What is not a directory is a link, or something that was a file before: neither can hold anything. */
  const inTheWay = (path: string): Error => {
    const kind = kindAt(path)
    return kind === 'symlink'
      ? archiveRefused('through_link', 'a path in it goes through a link', path)
      : archiveRefused('duplicate', `a path in it is a directory, and a ${kind ?? 'nothing'} before`, path)
  }

  const kindAt = (path: string): string | undefined => {
    const seen = statEntry(directories.holding(path), nameOf(path))
    return seen && kindOf(seen.print)
  }

  /** A later entry replaces an earlier one of its kind, as in archives that were appended to. */
  const making = <T>({ path, kind }: Member, make: (spot: string | Buffer) => T): T => {
    const spot = atBytes(holderOf(path), nameOf(path))
    try {
      return make(spot)
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
    const there = kindAt(path)
    const isSame = there === kind || (kind === 'hardlink' && there !== 'directory' && there !== 'symlink')
    if (!isSame)
      throw archiveRefused('duplicate', `a path in it is a ${kind}, and a ${there ?? 'nothing'} before`, path)
    hostFs.unlinkSync(spot)
    return make(spot)
  }

  const makeLink = (member: Member): void => {
    const { path, target } = member
    const reason = reasonAgainst(target)
    if (reason !== undefined) {
      skip(path, reason)
      return
    }
    if (target === path) throw archiveRefused('link', 'a hard link in it leads to itself', path)
    const kind = ignoreErrors(['ENOENT', 'ENOTDIR', 'ELOOP'], () => kindAt(target))
    if (kind === undefined || kind === 'directory')
      throw archiveRefused(
        'link',
        `a hard link in it leads to ${kind === undefined ? 'what is not in it' : 'a directory'}`,
        path,
      )
    making(member, (spot) => hostFs.linkSync(atBytes(directories.holding(target), nameOf(target)), spot))
    files += 1
  }

  const makeOther = (member: Member, looks: EntryAttributes): void => {
    const { path, kind, target, major, minor } = member
    const isDevice = kind === 'char' || kind === 'block'
    const isWhiteout = kind === 'char' && major === 0 && minor === 0
    if (isDevice && (!options.trusted || (isWhiteout && options.whiteouts === 'omit'))) {
      skip(path, 'device')
      return
    }
    const made = making(member, (spot) => {
      if (kind === 'symlink') makeSymlink(target, spot, path)
      else if (!makeNode(spot, { kind: looks.kind, content: `${major}:${minor}` })) return false
      applyOwnerAndMode(spot, looks, 'layer')
      return true
    })
    if (made) files += 1
    else skip(path, isDevice ? 'device' : 'fifo')
  }

  return {
    skipped,
    reduced,
    get files() {
      return files
    },
    begin({ member, lost }) {
      const { path, kind } = member
      const reason = reasonAgainst(path)
      if (reason !== undefined) {
        skip(path, reason)
        return undefined
      }
      const { looks, without } = attributesFor(member, options.trusted, owner)
      for (const what of [...lost, ...without]) reduced.push({ path: asText(path), reason: what })
      if (kind === 'directory') {
        if (!dressing.has(path)) makeDirectory(path)
        dressing.set(path, looks)
      } else if (kind === 'hardlink') makeLink(member)
      else if (kind !== 'file') makeOther(member, looks)
      else {
        const opened = making(member, (spot) => ({ fd: hostFs.createSync(spot, 0o600), spot, looks }))
        open = opened
        // Its data is written into one large hole.
        if (member.sparse) extend(opened.fd, member)
        return (bytes, position) => hostFs.writeSync(opened.fd, bytes, position)
      }
      return undefined
    },
    end() {
      if (open === undefined) return
      const { fd, spot, looks } = open
      applyToOpenFile(fd, spot, looks)
      open = undefined
      fs.closeSync(fd)
      files += 1
    },
    *finish() {
      for (const [path, looks] of [...dressing].reverse()) {
        if (looks === undefined) continue
        applyOwnerAndMode(path === '.' ? atBytes(top, '.') : atBytes(directories.holding(path), nameOf(path)), looks)
        yield
      }
    },
    [Symbol.dispose]() {
      if (open !== undefined) fs.closeSync(open.fd)
      directories[Symbol.dispose]()
    },
  }
}

function makeSymlink(target: string, spot: string | Buffer, path: string): void {
  try {
    hostFs.symlinkSync(Buffer.from(target, 'latin1'), spot)
  } catch (error) {
    // XFS has no room for more than 1024 bytes.
    if (!hasCode(error, 'ENAMETOOLONG')) throw error
    throw archiveRefused('link', 'a link in it is too long for this file system', path, error)
  }
}

function extend(fd: number, { size, path }: Member): void {
  try {
    hostFs.ftruncateSync(fd, size)
  } catch (error) {
    if (!hasCode(error, 'EFBIG', 'EINVAL')) throw error
    throw archiveRefused('number', 'a file in it is too large for this file system', path, error)
  }
}
