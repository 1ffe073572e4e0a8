import { type Input, readExactly, type Reading } from './input.ts'
import { type ArchiveLimits, maxExtendedBytes } from './limits.ts'
import type { Member } from './member.ts'
import { archivePath } from './paths.ts'
import { attributesIn, decodePax, parseCount, parseTime, type Records } from './pax.ts'
import { archiveRefused, overLimit } from './refusals.ts'
import { blockSize, decodeHeader, isZero, padded, type TarHeader } from './tar-header.ts'

/** An entry, and how much of what follows belongs to it, without what fills up its last block. */
export interface Found {
  readonly member: Member
  readonly stored: number
  /** What it has that cannot be kept, in a word each. */
  readonly lost: readonly string[]
}

const kinds: Readonly<Record<string, Member['kind']>> = {
  '0': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'char',
  '4': 'block',
  '5': 'directory',
  '6': 'fifo',
  '7': 'file',
}

/** What may stand before an entry. */
interface Before {
  pax?: Records
  longName?: string
  longLink?: string
}

/**
 * Reads up to the data of the next entry. Undefined at the end of the archive, of which one block has been read.
 * @param strict nothing is there that we would not have written
 */
export function* readMember(input: Input, limits: ArchiveLimits, strict: boolean): Reading<Found | undefined> {
  const before: Before = {}
  for (let count = 0; ; count++) {
    const block = yield* readExactly(input, blockSize)
    if (block[0] === 0 && isZero(block)) {
      if (Object.keys(before).length > 0) throw archiveRefused('header', 'a header in it belongs to no entry')
      return undefined
    }
    const header = decodeHeader(block)
    // Each of those below at most once before an entry; a comment on all that follows as often as somebody likes.
    if (count > maxBefore) throw archiveRefused('header', 'it has headers without entries')
    if (header.type === 'x') before.pax = once(before.pax, yield* extended(input, header, strict))
    else if (strict && !(header.type in kinds)) throw unsupported(header.type, header.name)
    else if (header.type === 'L') before.longName = once(before.longName, cString(yield* extension(input, header)))
    else if (header.type === 'K') before.longLink = once(before.longLink, cString(yield* extension(input, header)))
    else if (header.type === 'g') checkGlobal(decodePax(yield* extension(input, header)))
    else if (header.type === 'V') yield* extension(input, header)
    else return memberOf(header, before, limits)
  }
}

const maxBefore = 100

function once<T>(present: T | undefined, value: T): T {
  if (present !== undefined) throw archiveRefused('header', 'an entry of it has two headers of one kind')
  return value
}

function* extended(input: Input, header: TarHeader, strict: boolean): Reading<Records> {
  const bytes = yield* extension(input, header, strict)
  const records = decodePax(bytes)
  if (strict && [...records].some(([key, value]) => !isOurs(key, value)))
    throw archiveRefused('manifest', 'it has an extended header that was not written with it')
  return records
}

const isOurs = (key: string, value: string): boolean =>
  key === 'hdrcharset'
    ? value === 'BINARY'
    : /^(path|linkpath|size|uid|gid|mtime|GNU\.sparse\.(major|minor|name|realsize)|SCHILY\.xattr\..*)$/s.test(key)

function* extension(input: Input, { size }: TarHeader, strict = false): Reading<Buffer> {
  if (size > maxExtendedBytes)
    throw overLimit('extendedBytes', maxExtendedBytes, `has an extended header of ${size} bytes`)
  if (size === 0) return Buffer.alloc(0)
  const bytes = yield* readExactly(input, padded(size))
  if (strict && !isZero(bytes.subarray(size)))
    throw archiveRefused('manifest', 'there is something between two entries')
  return bytes.subarray(0, size)
}

function cString(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('latin1', 0, end === -1 ? bytes.length : end)
}

/** For all that follow; who changes what an entry is for all of them means harm. */
function checkGlobal(records: Records): void {
  for (const key of records.keys())
    if (/^(path|linkpath|size|uid|gid|mtime|hdrcharset|GNU\.|SCHILY\.)/.test(key))
      throw archiveRefused('extended_header', `it sets "${key}" for all entries at once`)
}

function memberOf(header: TarHeader, before: Before, limits: ArchiveLimits): Found {
  const pax: Records = before.pax ?? new Map()
  const name = nameOf(header, pax, before)
  // So the oldest programs tell directories from files.
  const kind = kinds[header.type] === 'file' && name.endsWith('/') ? 'directory' : kinds[header.type]
  if (kind === undefined) throw unsupported(header.type, name)
  const path = archivePath(name, limits)
  const stored = pax.has('size') ? parseCount(pax.get('size') ?? '', 'size') : header.size
  // Readers do not agree whether data follows then: what one takes for content is an entry to another.
  if (kind !== 'file' && stored !== 0) throw archiveRefused('header', `a ${kind} in it has a size`, path)
  if (path === '.' && kind !== 'directory') throw archiveRefused('path', `its top is a ${kind}`)
  const sparse = isSparse(pax, path)
  const sized = sparse ? parseCount(pax.get('GNU.sparse.realsize') ?? '', 'size') : stored
  const member: Member = {
    path,
    kind,
    mode: header.mode,
    uid: idOf(pax.get('uid'), header.uid),
    gid: idOf(pax.get('gid'), header.gid),
    mtimeNs: pax.has('mtime') ? parseTime(pax.get('mtime') ?? '') : BigInt(header.mtime) * 1_000_000_000n,
    size: sized,
    target: targetOf(kind, pax.get('linkpath') ?? before.longLink ?? header.linkName, path, limits),
    major: header.major,
    minor: header.minor,
    attributes: attributesIn(pax),
    sparse,
  }
  return { member, stored, lost: [...pax.keys()].some((key) => key.startsWith('SCHILY.acl.')) ? ['acl'] : [] }
}

function idOf(record: string | undefined, field: number): number {
  const id = record === undefined ? field : parseCount(record, 'owner')
  // The last one means "as it is" to the kernel.
  if (id >= 2 ** 32 - 1) throw archiveRefused('number', 'an owner in it is no number of a user')
  return id
}

function nameOf(header: TarHeader, pax: Records, { longName }: Before): string {
  if (pax.has('path') && longName !== undefined) throw archiveRefused('header', 'an entry of it has two names')
  return pax.get('GNU.sparse.name') ?? pax.get('path') ?? longName ?? header.name
}

function targetOf(kind: Member['kind'], target: string, path: string, limits: ArchiveLimits): string {
  if (kind === 'hardlink') return archivePath(target, limits)
  if (kind !== 'symlink') return ''
  if (target === '' || target.includes('\0') || target.length > 4095)
    throw archiveRefused('link', 'a link in it leads to what cannot be a path', path)
  return target
}

/** Of the ways to tell holes only the last one: the others have been replaced by it since 2006. */
function isSparse(pax: Records, path: string): boolean {
  const keys = [...pax.keys()].filter((key) => key.startsWith('GNU.sparse.'))
  if (keys.length === 0) return false
  if (pax.get('GNU.sparse.major') !== '1' || pax.get('GNU.sparse.minor') !== '0')
    throw archiveRefused('unsupported_entry', 'it tells holes in a way that is not read', path)
  return true
}

const unsupported = (type: string, path: string): Error =>
  archiveRefused(
    'unsupported_entry',
    type === 'S'
      ? 'it tells holes in a way that is not read (made with tar --sparse; add --format=pax)'
      : `it has an entry of an unknown kind ${JSON.stringify(type)}`,
    path,
  )
