import { closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../domain/errors.ts'
import { counted } from './crash-points.ts'
import { hasCode } from './errno.ts'
import { native, nativeProblem, type Native } from './native.ts'

/**
 * Loop devices: a file of the host as a disk. They are of the whole machine, not of a mount namespace, and outlive the
 * process, so that a device is always found by the identity of its file, never by a name that was noted down.
 */

/** Makes a device of an open file; answers with its path. Without the page cache of the host in between if it can be. */
export function attachLoop(file: number): string {
  for (let attempt = 0; ; attempt++) {
    const device = freeDevice()
    try {
      loops.attach(device, file)
      return device
    } catch (error) {
      // Somebody else was faster.
      if (!hasCode(error, 'EBUSY') || attempt === 32) throw error
    }
  }
}

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

const loops = counted({
  attach(device: string, file: number): void {
    const config = Buffer.alloc(304)
    config.writeUInt32LE(file, 0)
    config.writeUInt32LE(directIo, 8 + flagsAt)
    withDevice(device, (calls, fd) => calls.ioctl(fd, request.configure, config))
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
  const calls = native()
  if (calls === undefined)
    throw new AwError('unsupported', `Loop devices need system calls that are missing here: ${nativeProblem()}`, {
      hint: 'Install the optional package koffi',
    })
  const fd = openSync(device, flags | constants.O_NONBLOCK)
  try {
    return use(calls, fd)
  } finally {
    closeSync(fd)
  }
}
