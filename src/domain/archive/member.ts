import { attributeRecords, encodePax, formatTime, isText, type Records } from './pax.ts'
import { blockSize, encodeHeader, fieldMax, padded, splitName, type TarHeader } from './tar-header.ts'

/** Something that an archive holds. Text is bytes (latin1). */
export interface Member {
  /** From the top, without a slash at its end; `.` is the top itself. */
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink' | 'hardlink' | 'fifo' | 'char' | 'block'
  /** Without the kind. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeNs: bigint
  /** Of a file, with its holes; else 0. */
  readonly size: number
  /** Where a link leads; of a hard link the path of the first name. */
  readonly target: string
  /** Of a device. */
  readonly major: number
  readonly minor: number
  readonly attributes: Records
  /** There is a map of holes before its data. */
  readonly sparse: boolean
}

/** The extended header and the kind that it has. */
const extended = 'PaxHeaders/entry'
const types = { file: '0', hardlink: '1', symlink: '2', char: '3', block: '4', directory: '5', fifo: '6' } as const

/** The blocks that stand before the data. @param stored how much data there is, a map of holes with it */
export function encodeMember(member: Member, stored: number): Buffer {
  const name = nameOf(member)
  const records = recordsOf(member, name, stored)
  const seconds = member.mtimeNs / second
  const header: TarHeader = {
    name,
    type: types[member.kind],
    mode: member.mode,
    uid: clipped(member.uid, fieldMax.id),
    gid: clipped(member.gid, fieldMax.id),
    size: clipped(stored, fieldMax.size),
    mtime: seconds >= 0n && seconds <= BigInt(fieldMax.mtime) ? Number(seconds) : 0,
    linkName: member.target.slice(0, fieldMax.link),
    major: member.major,
    minor: member.minor,
  }
  const main = encodeHeader(header)
  if (records.length === 0) return main
  const pax = encodePax(records)
  const before = encodeHeader({ ...plain, name: extended, type: 'x', size: pax.length, mtime: header.mtime })
  return Buffer.concat([before, pax, Buffer.alloc(padded(pax.length) - pax.length), main])
}

const plain = { mode: 0o644, uid: 0, gid: 0, linkName: '', major: 0, minor: 0 } as const
const second = 1_000_000_000n
const clipped = (value: number, limit: number): number => (value <= limit ? value : 0)

/** A program that knows nothing of holes then makes a file that nobody takes for the real one. */
function nameOf({ path, kind, sparse }: Member): string {
  if (kind === 'directory') return `${path}/`
  if (!sparse) return path
  const slash = path.lastIndexOf('/') + 1
  return `${path.slice(0, slash)}GNUSparseFile.0/${path.slice(slash)}`
}

/** What does not fit into the header. */
function recordsOf(member: Member, name: string, stored: number): (readonly [string, string])[] {
  const records: (readonly [string, string])[] = []
  const add = (needed: boolean, key: string, value: string | number): void => {
    if (needed) records.push([key, String(value)])
  }
  const isLong = splitName(name) === undefined
  const isFarLink = member.target.length > fieldMax.link
  const texts = [isLong || member.sparse ? member.path : '', isFarLink ? member.target : '']
  add(!texts.every(isText), 'hdrcharset', 'BINARY')
  add(isLong, 'path', name)
  add(isFarLink, 'linkpath', member.target)
  // The rest has been told with the first name.
  if (member.kind === 'hardlink') return records
  add(stored > fieldMax.size, 'size', stored)
  add(member.uid > fieldMax.id, 'uid', member.uid)
  add(member.gid > fieldMax.id, 'gid', member.gid)
  const { mtimeNs } = member
  add(
    mtimeNs % second !== 0n || mtimeNs < 0n || mtimeNs / second > BigInt(fieldMax.mtime),
    'mtime',
    formatTime(mtimeNs),
  )
  add(member.sparse, 'GNU.sparse.major', 1)
  add(member.sparse, 'GNU.sparse.minor', 0)
  add(member.sparse, 'GNU.sparse.name', member.path)
  add(member.sparse, 'GNU.sparse.realsize', member.size)
  records.push(...attributeRecords(member.attributes))
  return records
}

/** How the whole ends. */
export const endOfArchive = Buffer.alloc(2 * blockSize)
