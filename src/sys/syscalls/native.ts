import { closeSync } from 'node:fs'
import { constants, platform } from 'node:os'
import { AwError } from '../../domain/errors.ts'
import { addonCalls } from './calls-addon.ts'
import type { Argument, Calls } from './calls.ts'
import { processCalls, type ProcessCalls } from './native-processes.ts'
import { numbers, type Syscall } from './syscall-numbers.ts'
import { systemError } from './system-error.ts'
import { timespecs } from './timespecs.ts'

/**
 * The system calls that Node does not offer, through an addon of our own. Where it does not load, or the machine is not a
 * 64-bit Linux that we know the numbers of, `native()` is undefined and `nativeProblem()` says why. `AW_NATIVE=none` does
 * without it. Importing this module loads nothing.
 *
 * A call that fails throws an Error like Node's own, with `code` ('ENOENT'), `errno` (negative) and `syscall`; a name with
 * a NUL byte is a TypeError, as Node's own. Calls are synchronous, but for those whose names say later. Descriptors are
 * close-on-exec.
 */
export interface Native extends ProcessCalls {
  /** Opens `path` below the directory `dirfd` as `resolve` (see RESOLVE) demands. Retries what the kernel asks to. */
  openat2(dirfd: number, path: string, flags: number, resolve: number, mode?: number): number
  /** False where the kernel lacks openat2 or a filter forbids it. */
  readonly hasOpenat2: boolean
  /** `flags`: see RENAME. */
  renameat2(fromDir: number, from: string | Buffer, toDir: number, to: string | Buffer, flags: number): void
  /** Fills `buffer` with directory records; answers how many bytes, 0 at the end. */
  getdents64(fd: number, buffer: Buffer): number
  /** Moves to where data (SEEK.DATA) or a hole (SEEK.HOLE) begins, at `offset` or behind it. ENXIO: none. */
  lseek(fd: number, offset: number, whence: number): number
  /** Names of attributes are their bytes, one character each (latin1). */
  flistxattr(fd: number): string[]
  fgetxattr(fd: number, name: string): Buffer
  fsetxattr(fd: number, name: string, value: Uint8Array): void
  fremovexattr(fd: number, name: string): void
  /** The same for what is at a path, a link itself included. */
  llistxattr(path: string | Buffer): string[]
  lgetxattr(path: string | Buffer, name: string): Buffer
  lsetxattr(path: string | Buffer, name: string, value: Uint8Array): void
  lremovexattr(path: string | Buffer, name: string): void
  /** Sets both times to the nanosecond; a link is not followed. */
  utimensat(dirfd: number, path: string | Buffer, atimeNs: bigint, mtimeNs: bigint): void
  /** `mode` with its type: a pipe, a socket, and for those who may a device. */
  mknodat(dirfd: number, path: string | Buffer, mode: number, device: number): void
  /** A name for the file of a descriptor; replaces nothing. */
  linkDescriptor(fd: number, path: string | Buffer): void
  /** The argument is filled in place where the request answers with one. */
  ioctl(fd: number, request: number, argument: Buffer | number): number
  /** The same on another thread: it may take long. */
  ioctlLater(fd: number, request: number, argument: Buffer): Promise<number>
  fsopen(type: string): number
  fsconfig(fd: number, command: number, key: string | null, value: string | null): void
  fsmount(fd: number, attributes: number): number
  /** Mounts what `fsmount` made. */
  moveMount(fd: number, path: string): void
  /** A copy of the mount at a path, mounted nowhere yet. */
  cloneMount(path: string): number
  umount2(path: string, flags: number): void
  /** Fills `ids` with those mounts of a namespace, ours if none is given, that are later than `after`; answers how many. */
  listmount(after: bigint, ids: BigUint64Array, namespace?: bigint): number
  /** Fills `buffer` with a `struct statmount` that has the file system of a mount. False if it is gone. */
  statmount(id: bigint, buffer: Buffer, namespace?: bigint): boolean
  /** Where a link leads, without the cost of an error; undefined if that cannot be told. */
  readLink(path: string): string | undefined
  /** Waits for nobody where `operation` says so (see LOCK). The kernel gives it back when the descriptor is closed. */
  flock(fd: number, operation: number): void
  /**
   * Locks a part of a file for this descriptor alone (`F_OFD_SETLK`), or gives it back; waits for nobody: EAGAIN. Such a
   * lock and those that SQLite takes exclude each other, within one process too.
   */
  lockRange(fd: number, type: number, start: number, length: number): void
  /** Fills `buffer` with a `struct statx`, mount id included, of a name (or '' for `dirfd` itself); follows no link. */
  statx(dirfd: number, name: string | Buffer, buffer: Buffer): void
  /** Writes out what is dirty in a part of a file, and waits for it. Nothing is durable by that. */
  syncFileRange(fd: number, offset: number, length: number): void
  /** Makes the whole file system that holds `fd` durable. */
  syncfs(fd: number): void
  /** The same on another thread: it may take seconds. */
  syncfsLater(fd: number): Promise<void>
  /** A new set of Landlock rules; without attributes and with flag 1, which version of Landlock the kernel has. */
  createRuleset(attributes: Buffer | null, flags: number): number
  addRule(ruleset: number, type: number, rule: Buffer): void
  /** Fills `bytes` from the kernel's generator; answers how many it filled, which a signal may make fewer. */
  getrandom(bytes: Uint8Array): number
}

export const AT_FDCWD = -100
export const RENAME = { NOREPLACE: 1, EXCHANGE: 2 } as const
export const SEEK = { DATA: 3, HOLE: 4 } as const
export const FSCONFIG = { FLAG: 0, STRING: 1, CREATE: 6 } as const
export const MOUNT = { NOSUID: 2, NODEV: 4, NOATIME: 0x10, RDONLY: 1 } as const
export const UMOUNT = { DETACH: 2, EXPIRE: 4, NOFOLLOW: 8 } as const
export const LOCK = { SHARED: 1, EXCLUSIVE: 2, NONBLOCKING: 4 } as const
export const RANGE_LOCK = { SHARED: 0, EXCLUSIVE: 1, NONE: 2 } as const
export const RESOLVE = { NO_XDEV: 1, NO_MAGICLINKS: 2, NO_SYMLINKS: 4, BENEATH: 8, IN_ROOT: 16 } as const

type Loaded = { readonly native: Native } | { readonly problem: string }

let loaded: Loaded | undefined

const use = (): Loaded => (loaded ??= load())

export function native(): Native | undefined {
  const found = use()
  return 'native' in found ? found.native : undefined
}

/** Whether the calls are at hand without loading anything. */
export const isNativeLoaded = (): boolean => loaded !== undefined && 'native' in loaded

/** Why `native()` is undefined; undefined when it is not. */
export function nativeProblem(): string | undefined {
  const found = use()
  return 'problem' in found ? found.problem : undefined
}

/** What to do about it. */
export const nativeHint = 'Install agent-workspaces again, on Linux with x64 or arm64: the addon comes with it'

// -- loading ---------------------------------------------------------------------------------------------------------

const O_CLOEXEC = 0o2000000
const OPEN_TREE_CLONE = 1
const F_OFD_SETLK = 37

function load(): Loaded {
  if (platform() !== 'linux') return { problem: `system calls are only known for Linux, this is ${platform()}` }
  const arch = process.arch
  if (arch !== 'x64' && arch !== 'arm64') return { problem: `system calls are not known for the processor ${arch}` }
  if (!isWanted()) return { problem: 'AW_NATIVE is none' }
  try {
    return { native: bind(addonCalls(arch), numbers[arch]) }
  } catch (error) {
    return { problem: `the addon does not load: ${error instanceof Error ? error.message : String(error)}` }
  }
}

function isWanted(): boolean {
  const wanted = process.env['AW_NATIVE'] ?? 'auto'
  if (['auto', 'addon', 'none'].includes(wanted)) return wanted !== 'none'
  throw new AwError('invalid_config', `AW_NATIVE is addon, none or auto, not ${JSON.stringify(wanted)}`)
}

function bind(calls: Calls, number: Record<Syscall, number>): Native {
  const check = (result: number, syscall: string): number => {
    if (result >= 0) return result
    throw systemError(-result, syscall)
  }
  const make = (syscall: Syscall, ...values: Argument[]): number =>
    check(calls.call(number[syscall], ...values), syscall)

  // Calls are synchronous and never nest, so one block of memory serves them all.
  const how = Buffer.alloc(24)
  const range = Buffer.alloc(32)
  const mountRequest = Buffer.alloc(32)
  const link = Buffer.alloc(4096)
  const aboutMount = (id: bigint, parameter: bigint, namespace: bigint): Buffer => {
    // Before 6.11 there was no namespace in it.
    mountRequest.writeUInt32LE(namespace === 0n ? 24 : 32, 0)
    mountRequest.writeBigUInt64LE(id, 8)
    mountRequest.writeBigUInt64LE(parameter, 16)
    mountRequest.writeBigUInt64LE(namespace, 24)
    return mountRequest
  }
  const openat2 = (dirfd: number, path: string, flags: number, resolve: number, mode = 0): number => {
    how.writeUInt32LE((flags | O_CLOEXEC) >>> 0, 0)
    how.writeUInt32LE(mode, 8)
    how.writeUInt32LE(resolve, 16)
    for (let attempt = 0; ; attempt++) {
      const result = calls.call(number.openat2, dirfd, path, how, how.length)
      // EAGAIN: something was renamed while the kernel followed a "..".
      const again = result === -constants.errno.EAGAIN || result === -constants.errno.EINTR
      if (!again || attempt === 128) return check(result, 'openat2')
    }
  }

  type Sized = 'flistxattr' | 'fgetxattr' | 'llistxattr' | 'lgetxattr'
  const sized = (syscall: Sized, ...values: Argument[]): Buffer => {
    for (;;) {
      const size = make(syscall, ...values, null, 0)
      if (size === 0) return Buffer.alloc(0)
      const buffer = Buffer.alloc(size)
      const result = calls.call(number[syscall], ...values, buffer, size)
      // It grew between the two calls.
      if (result !== -constants.errno.ERANGE) return buffer.subarray(0, check(result, syscall))
    }
  }

  return {
    ...processCalls(calls, number, check),
    openat2,
    hasOpenat2: works(() => openat2(AT_FDCWD, '/', 0o10000000, 0)),
    renameat2: (fromDir, from, toDir, to, flags) =>
      void make('renameat2', fromDir, cPath(from), toDir, cPath(to), flags),
    getdents64: (fd, buffer) => make('getdents64', fd, buffer, buffer.length),
    lseek: (fd, offset, whence) => make('lseek', fd, offset, whence),
    flistxattr: (fd) => namesIn(sized('flistxattr', fd)),
    fgetxattr: (fd, name) => sized('fgetxattr', fd, latin1(name)),
    fsetxattr: (fd, name, value) => void make('fsetxattr', fd, latin1(name), value, value.length, 0),
    fremovexattr: (fd, name) => void make('fremovexattr', fd, latin1(name)),
    llistxattr: (path) => namesIn(sized('llistxattr', cPath(path))),
    lgetxattr: (path, name) => sized('lgetxattr', cPath(path), latin1(name)),
    lsetxattr: (path, name, value) => void make('lsetxattr', cPath(path), latin1(name), value, value.length, 0),
    lremovexattr: (path, name) => void make('lremovexattr', cPath(path), latin1(name)),
    utimensat: (dirfd, path, atimeNs, mtimeNs) =>
      void make('utimensat', dirfd, cPath(path), timespecs(atimeNs, mtimeNs), AT_SYMLINK_NOFOLLOW),
    mknodat: (dirfd, path, mode, device) => void make('mknodat', dirfd, cPath(path), mode, device),
    linkDescriptor: (fd, path) =>
      void make('linkat', AT_FDCWD, `/proc/self/fd/${fd}`, AT_FDCWD, cPath(path), AT_SYMLINK_FOLLOW),
    ioctl: (fd, request, argument) => make('ioctl', fd, request, argument),
    ioctlLater: async (fd, request, argument) =>
      check(await calls.callLater(number.ioctl, fd, request, argument), 'ioctl'),
    fsopen: (type) => make('fsopen', type, 1),
    fsconfig: (fd, command, key, value) => void make('fsconfig', fd, command, key, value, 0),
    fsmount: (fd, attributes) => make('fsmount', fd, 1, attributes),
    moveMount: (fd, path) => void make('move_mount', fd, '', AT_FDCWD, path, 4),
    cloneMount: (path) => make('open_tree', AT_FDCWD, path, OPEN_TREE_CLONE | O_CLOEXEC),
    flock: (fd, operation) => void make('flock', fd, operation),
    lockRange(fd, type, start, length) {
      range.writeInt16LE(type, 0)
      range.writeBigInt64LE(BigInt(start), 8)
      range.writeBigInt64LE(BigInt(length), 16)
      make('fcntl', fd, F_OFD_SETLK, range)
    },
    umount2: (path, flags) => void make('umount2', path, flags),
    listmount: (after, ids, namespace = 0n) =>
      make('listmount', aboutMount(ALL_MOUNTS, after, namespace), new Uint8Array(ids.buffer), ids.length, 0),
    statmount(id, buffer, namespace = 0n) {
      const about = aboutMount(id, STATMOUNT_SB_BASIC, namespace)
      const result = calls.call(number.statmount, about, buffer, buffer.length, 0)
      return result !== -constants.errno.ENOENT && check(result, 'statmount') === 0
    },
    readLink(path) {
      const length = calls.call(number.readlinkat, AT_FDCWD, path, link, link.length)
      // One that fills all of it may be longer.
      return length < 0 || length === link.length ? undefined : link.toString('utf8', 0, length)
    },
    statx: (dirfd, name, buffer) => void make('statx', dirfd, cPath(name), statFlags, STATX_ALL_AND_MOUNT, buffer),
    syncFileRange: (fd, offset, length) => void make('sync_file_range', fd, offset, length, 7),
    syncfs: (fd) => void make('syncfs', fd),
    syncfsLater: async (fd) => void check(await calls.callLater(number.syncfs, fd), 'syncfs'),
    createRuleset: (attributes, flags) => make('landlock_create_ruleset', attributes, attributes?.length ?? 0, flags),
    addRule: (ruleset, type, rule) => void make('landlock_add_rule', ruleset, type, rule, 0),
    getrandom: (bytes) => make('getrandom', bytes, bytes.length, 0),
  }
}

const ALL_MOUNTS = 0xffff_ffff_ffff_ffffn
const STATMOUNT_SB_BASIC = 1n
const AT_SYMLINK_NOFOLLOW = 0x100
const AT_SYMLINK_FOLLOW = 0x400
/** Neither a link is followed nor anything mounted; an empty name is the descriptor itself. */
const statFlags = AT_SYMLINK_NOFOLLOW | 0x800 | 0x1000
const STATX_ALL_AND_MOUNT = 0x17ff

/** Names are bytes, which need not be text. */
const cPath = (path: string | Buffer): string | Buffer => (typeof path === 'string' ? path : cString(path))

const latin1 = (name: string): Buffer => cString(Buffer.from(name, 'latin1'))

/** The kernel would take only what is before a zero. */
function cString(bytes: Buffer): Buffer {
  if (!bytes.includes(0)) return Buffer.concat([bytes, Buffer.alloc(1)])
  const message = 'A name for a system call contains a NUL byte'
  throw Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_VALUE' })
}

const namesIn = (list: Buffer): string[] => list.toString('latin1').split('\0').filter(Boolean)

function works(open: () => number): boolean {
  try {
    closeSync(open())
    return true
  } catch {
    return false
  }
}
