import * as fs from 'node:fs'
import { errnoName } from '../../domain/errno.ts'
import { AwError } from '../../domain/errors.ts'
import { isNativeLoaded, native } from '../syscalls/native.ts'

/** A name in a directory: text, or bytes where they are not valid UTF-8. */
export type Name = string | Buffer

/** Linux on x64 and arm64; Node has no name for it. A descriptor that names an object without opening it. */
export const O_PATH = 0o10000000
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants
/** Names whatever is there, a link too. */
export const namingFlags = O_PATH | O_NOFOLLOW
/** Names a directory; fails with ENOTDIR on anything else, a link too. */
export const directoryFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW
/** Never waits for the other end of a pipe and never becomes a terminal's owner. */
export const readFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY

/**
 * A path that the kernel starts at an open directory instead of at `/`: what Node offers in the place of `openat` and
 * the other calls that take a directory's descriptor. With a single name behind it nothing can be swapped on the way.
 */
export function at(fd: number, name?: string): string
export function at(fd: number, name: Name): string | Buffer
export function at(fd: number, name: Name = ''): string | Buffer {
  if (typeof name === 'string') return name === '' ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])
}

export const display = (name: Name): string => (typeof name === 'string' ? name : name.toString())

const fdinfo = Buffer.alloc(256)
const statx = Buffer.alloc(256)
const hasMount = 0x1000

/**
 * The mount that a descriptor was reached through. `st_dev` is not enough: a bind mount of the same file system has the
 * same.
 */
export function mountId(fd: number): string {
  return mountByStatx(fd) ?? mountByProc(fd)
}

/** One call instead of three, where system calls are at hand; from Linux 5.8 on. */
function mountByStatx(fd: number): string | undefined {
  if (!isNativeLoaded()) return undefined
  native()?.statx(fd, '', statx)
  return (statx.readUInt32LE(0) & hasMount) === 0 ? undefined : String(statx.readUInt32LE(144))
}

function mountByProc(fd: number): string {
  const info = fs.openSync(`/proc/self/fdinfo/${fd}`, O_RDONLY)
  try {
    const text = fdinfo.toString('latin1', 0, fs.readSync(info, fdinfo, 0, fdinfo.length, 0))
    const start = text.indexOf('mnt_id:')
    if (start === -1) throw new AwError('unsupported', 'The kernel does not tell the mount of a descriptor')
    return text.slice(start + 7, text.indexOf('\n', start)).trim()
  } finally {
    fs.closeSync(info)
  }
}

/** Which object it is, whatever its name. */
export function identity(fd: number): string {
  const { dev, ino } = fs.fstatSync(fd, { bigint: true })
  return `${dev}:${ino}`
}

const procMagic = 0x9fa0
let checked = false

/** Everything here rests on /proc being the kernel's own. */
export function requireProc(): void {
  if (checked) return
  if (!isProc('/proc/self/fd')) {
    throw new AwError('unsupported', 'Files cannot be reached safely: /proc is not mounted')
  }
  checked = true
}

function isProc(path: string): boolean {
  try {
    return fs.statfsSync(path).type === procMagic
  } catch {
    return false
  }
}

export const errnoOf = (error: unknown): string => (error instanceof AwError ? '' : errnoName(error))
