import { archiveRefused } from './refusals.ts'

/** One block of a tar file that says what follows (POSIX ustar; GNU and older ones are read too). Text is bytes (latin1). */
export interface TarHeader {
  /** With the prefix before it. */
  readonly name: string
  /** One character; `\0` of the oldest is `0`. */
  readonly type: string
  /** Without the kind. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  /** Seconds since 1970. */
  readonly mtime: number
  readonly linkName: string
  readonly major: number
  readonly minor: number
}

export const blockSize = 512
/** The most that fits into the fields. */
export const fieldMax = { id: 0o7777777, size: 0o77777777777, mtime: 0o77777777777, link: 100 } as const

export const padded = (size: number): number => Math.ceil(size / blockSize) * blockSize

const zeros = Buffer.alloc(blockSize)

/** Of a block, or less. */
export const isZero = (bytes: Buffer): boolean => zeros.subarray(0, bytes.length).equals(bytes)

/** Where a name is divided between its two fields; undefined if it is too long for them. */
export function splitName(name: string): readonly [prefix: string, name: string] | undefined {
  if (name.length <= 100) return ['', name]
  // The last character does not divide: a directory's name ends with a slash.
  const slash = name.indexOf('/', name.length - 101)
  if (slash < 1 || slash > 155 || slash >= name.length - 1) return undefined
  return [name.slice(0, slash), name.slice(slash + 1)]
}

/** Everything must fit: what does not stands in an extended header before it. */
export function encodeHeader(header: TarHeader): Buffer {
  const block = Buffer.alloc(blockSize)
  const [prefix, name] = splitName(header.name) ?? ['', header.name.slice(0, 100)]
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, '0'), at, digits, 'latin1')
  block.write(name, 0, 100, 'latin1')
  octal(header.mode, 100, 7)
  octal(header.uid, 108, 7)
  octal(header.gid, 116, 7)
  octal(header.size, 124, 11)
  octal(header.mtime, 136, 11)
  block.write(header.type, 156, 1, 'latin1')
  block.write(header.linkName, 157, 100, 'latin1')
  block.write('ustar\x0000', 257, 8, 'latin1')
  octal(header.major, 329, 7)
  octal(header.minor, 337, 7)
  block.write(prefix, 345, 155, 'latin1')
  block.write(`${checksumOf(block).toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1')
  return block
}

/** Of all bytes, the field of the sum itself counted as blanks. */
function checksumOf(block: Uint8Array): number {
  let sum = 8 * 0x20
  for (let at = 0; at < blockSize; at++) if (at < 148 || at >= 156) sum += block[at] ?? 0
  return sum
}

/** Whether it can be one at all. */
export function hasValidChecksum(block: Buffer): boolean {
  const stored = /^ *([0-7]+)[ \0]*$/.exec(block.toString('latin1', 148, 156))?.[1]
  return stored !== undefined && parseInt(stored, 8) === checksumOf(block)
}

export function decodeHeader(block: Buffer): TarHeader {
  if (!hasValidChecksum(block)) throw archiveRefused('header', 'a header in it is damaged, its sum is wrong')
  const text = (at: number, length: number): string => {
    const end = block.indexOf(0, at)
    return block.toString('latin1', at, end === -1 ? at + length : Math.min(end, at + length))
  }
  const name = text(0, 100)
  // GNU keeps times where POSIX has the prefix, and says so in the version.
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? text(345, 155) : ''
  const type = text(156, 1) || '0'
  // Of the others some programs leave whatever was in memory there.
  const isDevice = type === '3' || type === '4'
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type,
    mode: numberIn(block, 100, 8, 'mode') & 0o7777,
    uid: positive(numberIn(block, 108, 8, 'owner'), 'owner'),
    gid: positive(numberIn(block, 116, 8, 'group'), 'group'),
    size: positive(numberIn(block, 124, 12, 'size'), 'size'),
    mtime: numberIn(block, 136, 12, 'time'),
    linkName: text(157, 100),
    major: isDevice ? positive(numberIn(block, 329, 8, 'device'), 'device') : 0,
    minor: isDevice ? positive(numberIn(block, 337, 8, 'device'), 'device') : 0,
  }
}

/** Octal digits; or after a first byte with its highest bit set, a binary number, as GNU does for what does not fit. */
function numberIn(block: Buffer, at: number, length: number, what: string): number {
  const first = block[at] ?? 0
  if (first === 0x80 || first === 0xff) return binaryIn(block, at, length, first === 0xff, what)
  const digits = /^ *([0-7]*) *(?:\0|$)/.exec(block.toString('latin1', at, at + length))?.[1]
  if (digits === undefined) throw archiveRefused('number', `the ${what} in a header is not a number`)
  return digits === '' ? 0 : parseInt(digits, 8)
}

function binaryIn(block: Buffer, at: number, length: number, negative: boolean, what: string): number {
  let value = 0n
  for (const byte of block.subarray(at + 1, at + length)) value = (value << 8n) | BigInt(byte)
  if (negative) value -= 1n << BigInt(8 * (length - 1))
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw archiveRefused('number', `the ${what} in a header is too large`)
  return number
}

function positive(value: number, what: string): number {
  if (value < 0) throw archiveRefused('number', `the ${what} in a header is negative`)
  return value
}
