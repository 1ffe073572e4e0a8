import * as fs from 'node:fs'
import type { ChangeEntry } from '../../domain/trees/diff.ts'
import { type Native, native } from '../syscalls/native.ts'
import { hasCode } from '../syscalls/errno.ts'
import { mountId, namingFlags } from '../safe-fs/descriptors.ts'
import { atBytes, isAscii } from './names.ts'

/**
 * What the kernel tells about a thing, as 80 characters of one byte each: a part of `struct statx`. Two are equal if
 * and only if nothing that it tells has changed, so most of a tree is looked at without taking any of them apart.
 * Neither the time of access nor the number of blocks is in it: both change by themselves.
 */
export type StatFingerprint = string

export interface StatResult {
  readonly print: StatFingerprint
  /** The mount it is on. */
  readonly mount: string
}

export interface StatFields {
  readonly kind: ChangeEntry['kind']
  /** Without the kind. */
  readonly mode: number
  readonly links: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly mtimeNs: bigint
  readonly ctimeNs: bigint
  /** Device and inode. */
  readonly identity: string
  readonly inode: string
  /** Of a device: what it is one of. */
  readonly major: number
  readonly minor: number
}

const buffer = Buffer.alloc(256)
const hasMount = 0x1000

/** Looks at a name in an open directory, or with '' at the directory. Undefined if there is nothing. Follows no link. */
export function statEntry(directory: number, name: string): StatResult | undefined {
  const calls = native()
  return calls === undefined ? statByNode(directory, name) : statBySyscall(calls, directory, name)
}

function statBySyscall(calls: Native, directory: number, name: string): StatResult | undefined {
  try {
    calls.statx(directory, isAscii(name) ? name : Buffer.from(name, 'latin1'), buffer)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  const print = printIn(buffer)
  if ((buffer.readUInt32LE(0) & hasMount) === 0) return { print, mount: mountByNode(directory, name) }
  return { print, mount: String(buffer.readUInt32LE(144)) }
}

/** In one piece: two that are put together would be copied once more when they are compared. */
const printIn = (stat: Buffer): StatFingerprint => stat.copyWithin(48, 96, 144).toString('latin1', 16, 96)

/** The same, laid out as `statx` does it. */
function statByNode(directory: number, name: string): StatResult | undefined {
  let fd: number
  try {
    fd = fs.openSync(atBytes(directory, name), name === '' ? namingFlags & ~fs.constants.O_NOFOLLOW : namingFlags)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    buffer.fill(0)
    for (const [at, value] of [
      [16, stat.nlink],
      [20, stat.uid],
      [24, stat.gid],
      [28, stat.mode],
      [104, modulo(stat.ctimeNs)],
      [120, modulo(stat.mtimeNs)],
      [128, majorOf(stat.rdev)],
      [132, minorOf(stat.rdev)],
      [136, majorOf(stat.dev)],
      [140, minorOf(stat.dev)],
    ] as const)
      buffer.writeUInt32LE(Number(value), at)
    buffer.writeBigUInt64LE(stat.ino, 32)
    buffer.writeBigUInt64LE(stat.size, 40)
    buffer.writeBigInt64LE((stat.ctimeNs - modulo(stat.ctimeNs)) / second, 96)
    buffer.writeBigInt64LE((stat.mtimeNs - modulo(stat.mtimeNs)) / second, 112)
    return { print: printIn(buffer), mount: mountId(fd) }
  } finally {
    fs.closeSync(fd)
  }
}

function mountByNode(directory: number, name: string): string {
  const fd = fs.openSync(atBytes(directory, name), name === '' ? namingFlags & ~fs.constants.O_NOFOLLOW : namingFlags)
  try {
    return mountId(fd)
  } finally {
    fs.closeSync(fd)
  }
}

const second = 1_000_000_000n
/** Also of a time before 1970. */
const modulo = (ns: bigint): bigint => ((ns % second) + second) % second
const majorOf = (device: bigint): bigint => ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn & 0xffffffffn)
const minorOf = (device: bigint): bigint => (device & 0xffn) | ((device >> 12n) & 0xffffff00n)

const kinds: Readonly<Record<number, ChangeEntry['kind']>> = {
  0o010000: 'fifo',
  0o020000: 'char',
  0o040000: 'directory',
  0o060000: 'block',
  0o100000: 'file',
  0o120000: 'symlink',
  0o140000: 'socket',
}

const fullMode = (print: StatFingerprint): number => print.charCodeAt(12) | (print.charCodeAt(13) << 8)

export const kindOf = (print: StatFingerprint): ChangeEntry['kind'] => kinds[fullMode(print) & 0o170000] ?? 'file'

/** When anything about it last changed, in milliseconds; without taking all of it apart. */
export const ctimeMs = (print: StatFingerprint): number => number32(print, 32) * 1000 + number32(print, 40) / 1e6

const number32 = (print: StatFingerprint, at: number): number =>
  print.charCodeAt(at) +
  print.charCodeAt(at + 1) * 0x100 +
  print.charCodeAt(at + 2) * 0x10000 +
  print.charCodeAt(at + 3) * 0x1000000

const taken = Buffer.alloc(80)

export function decodeStat(print: StatFingerprint): StatFields {
  taken.write(print, 0, 'latin1')
  const [major, minor] = [taken.readUInt32LE(72), taken.readUInt32LE(76)]
  const inode = String(taken.readBigUInt64LE(16))
  return {
    kind: kindOf(print),
    mode: fullMode(print) & 0o7777,
    links: taken.readUInt32LE(0),
    uid: taken.readUInt32LE(4),
    gid: taken.readUInt32LE(8),
    size: Number(taken.readBigUInt64LE(24)),
    ctimeNs: taken.readBigInt64LE(32) * second + BigInt(taken.readUInt32LE(40)),
    mtimeNs: taken.readBigInt64LE(48) * second + BigInt(taken.readUInt32LE(56)),
    identity: `${major}:${minor}:${inode}`,
    inode,
    major: taken.readUInt32LE(64),
    minor: taken.readUInt32LE(68),
  }
}

/** Without taking all of it apart. */
export function inodeIn(print: StatFingerprint): string {
  const [low, high] = [number32(print, 16), number32(print, 20)]
  return high === 0 ? String(low) : String((BigInt(high) << 32n) | BigInt(low))
}

/** Device and inode: what is the same for one object under all its names. */
export const identityIn = (print: StatFingerprint): string => print.slice(16, 24) + print.slice(72)

/** Whether two are of one object. */
export const isSame = (one: StatFingerprint, other: StatFingerprint): boolean => identityIn(one) === identityIn(other)

/** How many names it has. */
export const linksIn = (print: StatFingerprint): number => number32(print, 0)

export const sizeIn = (print: StatFingerprint): number => number32(print, 24) + number32(print, 28) * 2 ** 32
