import { closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { counted } from '../../../sys/fs/crash-points.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { native, nativeHint, nativeProblem, type Native } from '../../../sys/syscalls/native.ts'

/**
 * Loop devices: a file of the host as a disk. They are of the whole machine, not of a mount namespace, so that a device
 * is always found by the identity of its file, never by a name that was noted down. One goes with its last user, be
 * that a mount or a process: a file that was deleted must not be kept by a device that nobody knows of.
 */

/** A device that cannot go before it is let go of. */
export interface HeldLoop extends Disposable {
  readonly device: string
}

/** The device that this very file is behind already, or a new one. */
export function holdLoop(file: number): HeldLoop {
  for (const device of loopsOf(file)) {
    const fd = openDevice(device, constants.O_RDONLY)
    // It may have gone with its last user before it was held, and be another's now.
    if (loopsOf(file).includes(device)) return held(device, fd)
    closeSync(fd)
  }
  return attachLoop(file)
}

/** Makes a device of an open file. Without the page cache of the host in between if it can be. */
export function attachLoop(file: number): HeldLoop {
  for (let attempt = 0; ; attempt++) {
    const device = freeDevice()
    try {
      return held(device, loops.attach(device, file))
    } catch (error) {
      // Somebody else was faster.
      if (!hasCode(error, 'EBUSY') || attempt === 32) throw error
    }
  }
}

const held = (device: string, fd: number): HeldLoop => ({ device, [Symbol.dispose]: () => closeSync(fd) })

/** The devices that have this very file behind them, whatever its name is now. */
export function loopsOf(file: number): string[] {
  const { dev, ino } = fstatSync(file, { bigint: true })
  return devices().filter((device) => {
    const info = infoOf(device)
    return info !== undefined && info.readBigUInt64LE(0) === dev && info.readBigUInt64LE(8) === ino
  })
}

/** A device that is still in use goes when the last user does. Absent = done. */
export function detachLoop(device: string): void {
  try {
    loops.detach(device)
  } catch (error) {
    if (!hasCode(error, 'ENXIO', 'ENOENT')) throw error
  }
}

/** Tells the device that its file has grown. */
export const growLoop = (device: string): void => loops.grow(device)

/** Undefined for who may not ask. */
export function usesDirectIo(device: string): boolean | undefined {
  const info = infoOf(device)
  return info === undefined ? undefined : (info.readUInt32LE(flagsAt) & directIo) !== 0
}

// -- the system calls ------------------------------------------------------------------------------------------------

const request = {
  clear: 0x4c01,
  status: 0x4c05,
  capacity: 0x4c07,
  configure: 0x4c0a,
  free: 0x4c82,
} as const

const infoBytes = 232
const flagsAt = 52
const directIo = 16
const autoClear = 4

const loops = counted({
  attach(device: string, file: number): number {
    const config = Buffer.alloc(304)
    config.writeUInt32LE(file, 0)
    config.writeUInt32LE(directIo | autoClear, 8 + flagsAt)
    const fd = openDevice(device, constants.O_RDWR)
    try {
      loaded().ioctl(fd, request.configure, config)
      return fd
    } catch (error) {
      closeSync(fd)
      throw error
    }
  },
  detach: (device: string): void => void withDevice(device, (calls, fd) => calls.ioctl(fd, request.clear, 0)),
  grow: (device: string): void => void withDevice(device, (calls, fd) => calls.ioctl(fd, request.capacity, 0)),
})

function freeDevice(): string {
  try {
    return `/dev/loop${withDevice('/dev/loop-control', (calls, fd) => calls.ioctl(fd, request.free, 0))}`
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENODEV', 'EACCES', 'EPERM')) throw error
    throw new AwError('unsupported', 'This machine gives no loop devices', {
      hint: 'Load the kernel module with: modprobe loop; a container must be allowed to use /dev/loop-control',
      cause: error,
    })
  }
}

const devices = (): string[] =>
  readdirSync('/dev')
    .filter((name) => /^loop\d+$/.test(name))
    .map((name) => join('/dev', name))

/** Undefined for a device without a file. */
function infoOf(device: string): Buffer | undefined {
  const info = Buffer.alloc(infoBytes)
  try {
    withDevice(device, (calls, fd) => calls.ioctl(fd, request.status, info), constants.O_RDONLY)
    return info
  } catch (error) {
    if (hasCode(error, 'ENXIO', 'ENOENT', 'ENODEV', 'EACCES', 'EPERM')) return undefined
    throw error
  }
}

/** Closing a device that was open for writing makes the whole machine look at it again: who only asks does not. */
function withDevice(device: string, use: (calls: Native, fd: number) => number, flags = constants.O_RDWR): number {
  const calls = loaded()
  const fd = openDevice(device, flags)
  try {
    return use(calls, fd)
  } finally {
    closeSync(fd)
  }
}

const openDevice = (device: string, flags: number): number => openSync(device, flags | constants.O_NONBLOCK)

function loaded(): Native {
  const calls = native()
  if (calls !== undefined) return calls
  throw new AwError('unsupported', `Loop devices need system calls that are missing here: ${nativeProblem()}`, {
    hint: nativeHint,
  })
}
