/** Tar files as nobody makes them by accident. */
import { encodePax } from '../../../src/domain/archive/pax.ts'
import { encodeHeader, padded, type TarHeader } from '../../../src/domain/archive/tar-header.ts'

interface Made extends Partial<TarHeader> {
  readonly content?: Buffer | string
  /** Extended header before it. */
  readonly pax?: Readonly<Record<string, string>>
  /** GNU's way to tell a long name, or a long target. */
  readonly longName?: string
  readonly longLink?: string
  /** Bytes that are put into the header as they are, by where they begin. The sum is right unless they are in it. */
  readonly raw?: Readonly<Record<number, Buffer | string>>
}

const plain: TarHeader = {
  name: 'file',
  type: '0',
  mode: 0o644,
  uid: 0,
  gid: 0,
  size: 0,
  mtime: 1_600_000_000,
  linkName: '',
  major: 0,
  minor: 0,
}

const filled = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)])

const extra = (type: string, name: string, bytes: Buffer): Buffer =>
  Buffer.concat([encodeHeader({ ...plain, type, name, size: bytes.length }), filled(bytes)])

export function entry({ content = '', pax, longName, longLink, raw = {}, ...header }: Made): Buffer {
  const bytes = Buffer.from(content as string)
  const block = encodeHeader({ ...plain, size: bytes.length, ...header })
  for (const [at, value] of Object.entries(raw)) Buffer.from(value as string, 'latin1').copy(block, Number(at))
  if (!('148' in raw)) sum(block)
  return Buffer.concat([
    ...(pax === undefined ? [] : [extra('x', 'PaxHeaders/x', encodePax(Object.entries(pax)))]),
    ...(longName === undefined ? [] : [extra('L', '././@LongLink', Buffer.from(`${longName}\0`))]),
    ...(longLink === undefined ? [] : [extra('K', '././@LongLink', Buffer.from(`${longLink}\0`))]),
    block,
    filled(bytes),
  ])
}

function sum(block: Buffer): void {
  block.write('        ', 148, 'latin1')
  const total = block.reduce((all, byte) => all + byte, 0)
  block.write(`${total.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
}

export const file = (name: string, content = name): Buffer => entry({ name, content })
export const directory = (name: string): Buffer => entry({ name: `${name}/`, type: '5', mode: 0o755 })
export const symlink = (name: string, linkName: string): Buffer => entry({ name, type: '2', linkName, mode: 0o777 })
export const hardlink = (name: string, linkName: string): Buffer => entry({ name, type: '1', linkName })
export const global = (records: Readonly<Record<string, string>>): Buffer =>
  extra('g', 'PaxHeaders/g', encodePax(Object.entries(records)))

export const tarOf = (...entries: readonly Buffer[]): Buffer => Buffer.concat([...entries, Buffer.alloc(1024)])

/** A number too large for its field, or a negative one: as GNU writes it. */
export function binary(value: bigint, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let rest = BigInt.asUintN(8 * length, value)
  for (let at = length - 1; at >= 0; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn)
  bytes[0] = value < 0n ? 0xff : 0x80
  return bytes
}
