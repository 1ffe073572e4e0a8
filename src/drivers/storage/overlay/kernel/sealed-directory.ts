import * as fs from 'node:fs'
import { counted } from '../../../../sys/fs/crash-points.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { native } from '../../../../sys/syscalls/native.ts'
import { readFlags } from '../../../../sys/safe-fs/descriptors.ts'

const GETFLAGS = 0x80086601
const SETFLAGS = 0x40086602
const IMMUTABLE = 0x10

/**
 * A sealed directory is one in which nobody makes anything, not even root, whom no mode stops; nor can it be renamed or
 * removed. It outlasts a reboot. Needs root and a file system that knows the flag.
 */
export const sealing = counted({
  seal: (path: string): void => setSealed(path, true),
  /** Absent, or on a file system without the flag = nothing to do. */
  unseal(path: string): void {
    try {
      setSealed(path, false)
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENOTTY', 'EOPNOTSUPP')) throw error
    }
  },
})

const sealable = readFlags | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW

function setSealed(path: string, sealed: boolean): void {
  const fd = fs.openSync(path, sealable)
  try {
    change(fd, sealed)
  } finally {
    fs.closeSync(fd)
  }
}

function change(fd: number, sealed: boolean): void {
  const flags = Buffer.alloc(8)
  native()?.ioctl(fd, GETFLAGS, flags)
  const before = flags.readUInt32LE(0)
  const after = sealed ? before | IMMUTABLE : before & ~IMMUTABLE
  if (after === before) return
  flags.writeUInt32LE(after >>> 0, 0)
  native()?.ioctl(fd, SETFLAGS, flags)
}

/** Throws if directories cannot be sealed. Tries it with an empty one, and removes that first: so none is ever left. */
export function trySealing(path: string): void {
  const fd = fs.openSync(path, sealable)
  try {
    hostFs.rmdirSync(path)
    change(fd, true)
  } finally {
    fs.closeSync(fd)
  }
}
