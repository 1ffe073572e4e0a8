import { closeSync } from 'node:fs'
import { constants, platform } from 'node:os'
import { type Koffi, loadKoffi } from './koffi.ts'
import { numbers, type Syscall } from './syscall-numbers.ts'
import { systemError } from './system-error.ts'
import { timespecs } from './timespecs.ts'

/**
 * The system calls that Node does not offer, through koffi, which is an optional dependency: where it does not load (or
 * the machine is not a 64-bit Linux that we know the numbers of) `native()` is undefined and `nativeProblem()` says why.
 * Importing this module never throws and loads nothing.
 *
 * A call that fails throws an Error like Node's own, with `code` ('ENOENT'), `errno` (negative) and `syscall`. All calls
 * are synchronous. Descriptors are close-on-exec.
 */
export interface Native {
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
  /** The same on another thread: it may take long. False if it failed; why, only the call itself tells. */
  ioctlLater(fd: number, request: number, argument: Buffer): Promise<boolean>
  fsopen(type: string): number
  fsconfig(fd: number, command: number, key: string | null, value: string | null): void
  fsmount(fd: number, attributes: number): number
  /** Mounts what `fsmount` made. */
  moveMount(fd: number, path: string): void
  /** A copy of the mount at a path, mounted nowhere yet. */
  cloneMount(path: string): number
  umount2(path: string, flags: number): void
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
  /** A handle on a process that no later process with its pid can take over. */
  pidfdOpen(pid: number): number
  pidfdSendSignal(pidfd: number, signal: number): void
  /** A new set of Landlock rules; without attributes and with flag 1, which version of Landlock the kernel has. */
  createRuleset(attributes: Buffer | null, flags: number): number
  addRule(ruleset: number, type: number, rule: Buffer): void
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

let loaded: { native?: Native; problem?: string } | undefined

export const native = (): Native | undefined => (loaded ??= load()).native

/** Whether the calls are at hand without loading anything. */
export const isNativeLoaded = (): boolean => loaded?.native !== undefined

/** Why `native()` is undefined; undefined when it is not. */
export const nativeProblem = (): string | undefined => (loaded ??= load()).problem

// -- loading ---------------------------------------------------------------------------------------------------------

const O_CLOEXEC = 0o2000000
const OPEN_TREE_CLONE = 1
const F_OFD_SETLK = 37

interface Call {
  (...values: unknown[]): number | bigint
  async(...valuesThenDone: unknown[]): void
}

function load(): { native?: Native; problem?: string } {
  if (platform() !== 'linux') return { problem: `system calls are only known for Linux, this is ${platform()}` }
  const arch = process.arch
  if (arch !== 'x64' && arch !== 'arm64') return { problem: `system calls are not known for the processor ${arch}` }
  try {
    return { native: bind(loadKoffi(arch), numbers[arch]) }
  } catch (error) {
    return { problem: `koffi does not load: ${error instanceof Error ? error.message : String(error)}` }
  }
}

function bind(koffi: Koffi, number: Record<Syscall, number>): Native {
  const library = koffi.load(null)
  /** One binding of the variadic `syscall` for each shape of arguments. */
  const shape = (parameters: string) => library.func(`long syscall(long number, ${parameters})`) as Call
  const pathCall = shape('int fd, const char *path, const void *how, size_t size')
  const renameCall = shape('int fromDir, const void *from, int toDir, const void *to, unsigned int flags')
  const bufferCall = shape('int fd, void *buffer, size_t size')
  const seekCall = shape('int fd, int64_t offset, int whence')
  const valueCall = shape('int fd, const void *name, void *value, size_t size, int flags')
  const attributeListCall = shape('const void *path, void *buffer, size_t size')
  const attributeCall = shape('const void *path, const void *name, void *value, size_t size, int flags')
  const nodeCall = shape('int fd, const void *path, const void *times, int flags')
  const makeCall = shape('int fd, const void *path, unsigned int mode, unsigned int device')
  const ioctlCall = shape('int fd, unsigned long request, void *argument')
  const ioctlNumberCall = shape('int fd, unsigned long request, unsigned long argument')
  const openCall = shape('const char *type, unsigned int flags')
  const configCall = shape('int fd, unsigned int command, const char *key, const char *value, int aux')
  const moveCall = shape('int fromDir, const char *from, int toDir, const char *to, unsigned int flags')
  const statCall = shape('int fd, const char *name, int flags, unsigned int mask, void *buffer')
  const statBytesCall = shape('int fd, const void *name, int flags, unsigned int mask, void *buffer')
  const rangeCall = shape('int fd, int64_t offset, int64_t length, unsigned int flags')
  const numberCall = shape('int first, int second, void *third, unsigned int fourth')
  const rulesetCall = shape('const void *attributes, size_t size, unsigned int flags')

  const check = (result: number | bigint, syscall: Syscall): number => {
    if (result >= 0) return Number(result)
    throw systemError(koffi.errno(), syscall)
  }

  /** On another thread, where the error's number stays. */
  const later = (call: Call, ...values: unknown[]): Promise<boolean> =>
    new Promise((resolve) => {
      call.async(...values, (failure: unknown, result: number | bigint) => resolve(failure === null && result >= 0))
    })

  // Calls are synchronous and never nest, so one block of memory serves them all.
  const how = Buffer.alloc(24)
  const range = Buffer.alloc(32)
  const openat2 = (dirfd: number, path: string, flags: number, resolve: number, mode = 0): number => {
    how.writeUInt32LE((flags | O_CLOEXEC) >>> 0, 0)
    how.writeUInt32LE(mode, 8)
    how.writeUInt32LE(resolve, 16)
    for (let attempt = 0; ; attempt++) {
      const result = Number(pathCall(number.openat2, dirfd, path, how, how.length))
      if (result >= 0) return result
      const errno = koffi.errno()
      // EAGAIN: something was renamed while the kernel followed a "..".
      const again = errno === constants.errno.EAGAIN || errno === constants.errno.EINTR
      if (!again || attempt === 128) throw systemError(errno, 'openat2')
    }
  }

  const sized = (
    syscall: 'flistxattr' | 'fgetxattr' | 'llistxattr' | 'lgetxattr',
    call: (buffer: Buffer | null, size: number) => number,
  ): Buffer => {
    for (;;) {
      const size = check(call(null, 0), syscall)
      if (size === 0) return Buffer.alloc(0)
      const buffer = Buffer.alloc(size)
      const result = call(buffer, size)
      if (result >= 0) return buffer.subarray(0, result)
      // It grew between the two calls.
      if (koffi.errno() !== constants.errno.ERANGE) throw systemError(koffi.errno(), syscall)
    }
  }

  return {
    openat2,
    hasOpenat2: works(() => openat2(AT_FDCWD, '/', 0o10000000, 0)),
    renameat2: (fromDir, from, toDir, to, flags) =>
      void check(renameCall(number.renameat2, fromDir, cString(from), toDir, cString(to), flags), 'renameat2'),
    getdents64: (fd, buffer) => check(bufferCall(number.getdents64, fd, buffer, buffer.length), 'getdents64'),
    lseek: (fd, offset, whence) => check(seekCall(number.lseek, fd, offset, whence), 'lseek'),
    flistxattr: (fd) =>
      sized('flistxattr', (buffer, size) => Number(bufferCall(number.flistxattr, fd, buffer, size)))
        .toString('latin1')
        .split('\0')
        .filter(Boolean),
    fgetxattr: (fd, name) =>
      sized('fgetxattr', (buffer, size) => Number(valueCall(number.fgetxattr, fd, latin1(name), buffer, size, 0))),
    fsetxattr: (fd, name, value) =>
      void check(valueCall(number.fsetxattr, fd, latin1(name), value, value.length, 0), 'fsetxattr'),
    fremovexattr: (fd, name) =>
      void check(valueCall(number.fremovexattr, fd, latin1(name), null, 0, 0), 'fremovexattr'),
    llistxattr: (path) =>
      sized('llistxattr', (buffer, size) => Number(attributeListCall(number.llistxattr, cString(path), buffer, size)))
        .toString('latin1')
        .split('\0')
        .filter(Boolean),
    lgetxattr: (path, name) =>
      sized('lgetxattr', (buffer, size) =>
        Number(attributeCall(number.lgetxattr, cString(path), latin1(name), buffer, size, 0)),
      ),
    lsetxattr: (path, name, value) =>
      void check(attributeCall(number.lsetxattr, cString(path), latin1(name), value, value.length, 0), 'lsetxattr'),
    lremovexattr: (path, name) =>
      void check(attributeCall(number.lremovexattr, cString(path), latin1(name), null, 0, 0), 'lremovexattr'),
    utimensat: (dirfd, path, atimeNs, mtimeNs) =>
      void check(
        nodeCall(number.utimensat, dirfd, cString(path), timespecs(atimeNs, mtimeNs), AT_SYMLINK_NOFOLLOW),
        'utimensat',
      ),
    mknodat: (dirfd, path, mode, device) =>
      void check(makeCall(number.mknodat, dirfd, cString(path), mode, device), 'mknodat'),
    linkDescriptor: (fd, path) =>
      void check(renameCall(number.linkat, AT_FDCWD, ownFd(fd), AT_FDCWD, cString(path), AT_SYMLINK_FOLLOW), 'linkat'),
    ioctl: (fd, request, argument) =>
      check(
        typeof argument === 'number'
          ? ioctlNumberCall(number.ioctl, fd, request, argument)
          : ioctlCall(number.ioctl, fd, request, argument),
        'ioctl',
      ),
    ioctlLater: (fd, request, argument) => later(ioctlCall, number.ioctl, fd, request, argument),
    fsopen: (type) => check(openCall(number.fsopen, type, 1), 'fsopen'),
    fsconfig: (fd, command, key, value) =>
      void check(configCall(number.fsconfig, fd, command, key, value, 0), 'fsconfig'),
    fsmount: (fd, attributes) => check(ioctlNumberCall(number.fsmount, fd, 1, attributes), 'fsmount'),
    moveMount: (fd, path) => void check(moveCall(number.move_mount, fd, '', AT_FDCWD, path, 4), 'move_mount'),
    cloneMount: (path) =>
      check(makeCall(number.open_tree, AT_FDCWD, cString(path), OPEN_TREE_CLONE | O_CLOEXEC, 0), 'open_tree'),
    flock: (fd, operation) => void check(numberCall(number.flock, fd, operation, null, 0), 'flock'),
    lockRange(fd, type, start, length) {
      range.writeInt16LE(type, 0)
      range.writeBigInt64LE(BigInt(start), 8)
      range.writeBigInt64LE(BigInt(length), 16)
      check(numberCall(number.fcntl, fd, F_OFD_SETLK, range, 0), 'fcntl')
    },
    umount2: (path, flags) => void check(openCall(number.umount2, path, flags), 'umount2'),
    statx: (dirfd, name, buffer) => {
      const isText = typeof name === 'string'
      const [call, path] = isText ? [statCall, name] : [statBytesCall, cString(name)]
      check(call(number.statx, dirfd, path, statFlags, STATX_ALL_AND_MOUNT, buffer), 'statx')
    },
    syncFileRange: (fd, offset, length) =>
      void check(rangeCall(number.sync_file_range, fd, offset, length, 7), 'sync_file_range'),
    async syncfsLater(fd) {
      if (!(await later(numberCall, number.syncfs, fd, 0, null, 0))) throw systemError(constants.errno.EIO, 'syncfs')
    },
    syncfs: (fd) => void check(numberCall(number.syncfs, fd, 0, null, 0), 'syncfs'),
    pidfdOpen: (pid) => check(numberCall(number.pidfd_open, pid, 0, null, 0), 'pidfd_open'),
    pidfdSendSignal: (pidfd, signal) =>
      void check(numberCall(number.pidfd_send_signal, pidfd, signal, null, 0), 'pidfd_send_signal'),
    createRuleset: (attributes, flags) =>
      check(
        rulesetCall(number.landlock_create_ruleset, attributes, attributes?.length ?? 0, flags),
        'landlock_create_ruleset',
      ),
    addRule: (ruleset, type, rule) =>
      void check(numberCall(number.landlock_add_rule, ruleset, type, rule, 0), 'landlock_add_rule'),
  }
}

const AT_SYMLINK_NOFOLLOW = 0x100
const AT_SYMLINK_FOLLOW = 0x400
/** Neither a link is followed nor anything mounted; an empty name is the descriptor itself. */
const statFlags = AT_SYMLINK_NOFOLLOW | 0x800 | 0x1000
const STATX_ALL_AND_MOUNT = 0x17ff

/** Names are bytes, which need not be text. */
const cString = (path: string | Buffer): Buffer => Buffer.concat([Buffer.from(path as string), Buffer.alloc(1)])

const ownFd = (fd: number): Buffer => cString(`/proc/self/fd/${fd}`)

const latin1 = (name: string): Buffer => Buffer.from(`${name}\0`, 'latin1')

function works(open: () => number): boolean {
  try {
    closeSync(open())
    return true
  } catch {
    return false
  }
}
