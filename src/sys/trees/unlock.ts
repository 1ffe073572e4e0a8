import * as fs from 'node:fs'
import { hostFs } from '../fs/host-fs.ts'
import { at, namingFlags, readFlags } from '../safe-fs/descriptors.ts'
import { hasCode } from '../syscalls/errno.ts'
import { atBytes } from './names.ts'
import { decodeStat, isSame, kindOf, statEntry, type StatFingerprint } from './stat.ts'

/**
 * Gives the owner, if that is who we are, the rights in `need` on what a descriptor names, until it is disposed of.
 * Undefined if there is nothing to do. A process that is killed in between leaves the wider mode: open to nobody but
 * the owner, who could have done that at any time. If somebody else sets the mode meanwhile, theirs stays.
 */
export function unlock(fd: number, need: number): Disposable | undefined {
  const uid = process.getuid?.() ?? 0
  if (uid === 0) return undefined
  const stat = statEntry(fd, '')
  if (stat === undefined) return undefined
  const facts = decodeStat(stat.print)
  if (facts.uid !== uid || (facts.mode & need) === need) return undefined
  const wider = facts.mode | need
  hostFs.chmodSync(at(fd), wider)
  return {
    [Symbol.dispose]: () => {
      const now = statEntry(fd, '')
      if (now !== undefined && decodeStat(now.print).mode === wider) hostFs.chmodSync(at(fd), facts.mode)
    },
  }
}

/** The same for what a name in an open directory leads to, which may be a link: that has no mode of its own. */
export function unlockNamed(path: string | Buffer, need: number): Disposable {
  const fd = fs.openSync(path, namingFlags)
  const unlocked = fs.fstatSync(fd).isSymbolicLink() ? undefined : unlock(fd, need)
  return {
    [Symbol.dispose]: () => {
      unlocked?.[Symbol.dispose]()
      fs.closeSync(fd)
    },
  }
}

/**
 * Opens a file for reading, if the name still is what was seen there; undefined if not. What it is, is known before it is
 * opened: a pipe or a device would notice. The caller closes it.
 */
export function openIfUnchanged(directory: number, name: string, print: StatFingerprint): number | undefined {
  let named: number
  try {
    named = fs.openSync(atBytes(directory, name), namingFlags)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
  try {
    const now = statEntry(named, '')
    if (now === undefined || kindOf(now.print) !== 'file' || !isSame(now.print, print)) return undefined
    using _ = unlock(named, 0o400)
    return fs.openSync(at(named), readFlags)
  } finally {
    fs.closeSync(named)
  }
}
