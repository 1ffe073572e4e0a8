import { createHash, hash } from 'node:crypto'
import * as fs from 'node:fs'
import { formatHeader, freeReservedName } from '../../../domain/archive/header.ts'
import { maxExtendedBytes } from '../../../domain/archive/limits.ts'
import { newManifest } from '../../../domain/archive/manifest.ts'
import { encodeMember, endOfArchive, type Member } from '../../../domain/archive/member.ts'
import { asText, overLimit } from '../../../domain/archive/refusals.ts'
import { encodeSparseMap, type Segment } from '../../../domain/archive/sparse-map.ts'
import { AwError } from '../../../domain/errors.ts'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { readFlags } from '../../../sys/safe-fs/descriptors.ts'
import { readAttributes } from '../../../sys/trees/attributes.ts'
import { linkTarget } from '../../../sys/trees/link-target.ts'
import { atBytes } from '../../../sys/trees/names.ts'
import { decodeStat, statEntry, type StatFields, type StatFingerprint } from '../../../sys/trees/stat.ts'
import { openIfUnchanged } from '../../../sys/trees/unlock.ts'
import { type Visit, walkTree } from '../../../sys/trees/walk.ts'
import { type Chunks, chunkSize, newChunks } from './chunks.ts'
import { segmentsOf } from './holes.ts'

export interface Written {
  readonly entries: number
  readonly digest: string
  /** Paths that were left out, with the reason. */
  readonly skipped: readonly { path: string; reason: 'socket' }[]
}

export interface Tally {
  files: number
  bytes: number
}

/** Where a file's first name is, by device and inode. */
type FirstNames = Map<string, string>

/** A tree as the bytes of a tar file, in chunks. The tree must not change meanwhile: that would be an error. */
export function* tarOf(
  top: number,
  about: Readonly<Record<string, unknown>>,
  tally: Tally,
  exclude: readonly string[] = [],
): Generator<Buffer, Written, void> {
  const out = newChunks()
  const header = formatHeader(about)
  const manifest = newManifest(header)
  const reserved = freeReservedName(new Set(fs.readdirSync(`/proc/self/fd/${top}`, { encoding: 'latin1' })))
  const skipped: { path: string; reason: 'socket' }[] = []
  const firstNames: FirstNames = new Map()
  let entries = 0

  const ours = (name: string, content: Buffer): void => {
    // Without the time: the same tree twice gives the same file.
    const facts = { kind: 'file', mode: 0o644, uid: 0, gid: 0, mtimeNs: 0n, major: 0, minor: 0 } as const
    const member = { ...facts, path: `${reserved}/${name}`, size: content.length, ...noContent }
    out.put(encodeMember(member, content.length))
    out.put(content)
    out.fill(content.length)
  }

  ours('header.json', header)
  for (const visit of visits(top, exclude)) {
    const facts = decodeStat(visit.print)
    entries += 1
    if (facts.kind === 'socket') skipped.push({ path: asText(visit.path), reason: 'socket' })
    else {
      const member = memberOf(visit, facts, firstNames)
      const content = yield* contentOf(out, visit, member)
      manifest.add(content.member, content.hash)
      tally.files += 1
      tally.bytes += member.size
    }
    yield* out.take()
  }
  const { bytes, digest } = manifest.seal()
  ours('manifest', bytes)
  out.put(endOfArchive)
  yield* out.take('all')
  return { entries: entries - skipped.length, digest, skipped }
}

const noContent = { target: '', attributes: new Map<string, string>(), sparse: false } as const

/** The top first. */
function* visits(top: number, exclude: readonly string[]): Generator<Visit, void, void> {
  const seen = statEntry(top, '')
  if (seen !== undefined) yield { path: '.', name: '', directory: top, print: seen.print }
  yield* walkTree(top, { exclude })
}

function memberOf({ path, name, directory }: Visit, facts: StatFields, firstNames: FirstNames): Member {
  const { kind, mode, uid, gid, mtimeNs, size, major, minor, links, identity } = facts
  const about = { path, mode, uid, gid, mtimeNs, major: 0, minor: 0, size: 0, ...noContent }
  const first = links > 1 && kind !== 'directory' ? firstNames.get(identity) : undefined
  if (first !== undefined) return { ...about, kind: 'hardlink', target: first }
  if (links > 1 && kind !== 'directory') firstNames.set(identity, path)
  if (!Number.isSafeInteger(size)) throw tooLarge(path)
  const attributes = attributesOf(path, directory, name)
  if (kind === 'symlink') return { ...about, kind, target: linkTarget(directory, name), attributes }
  if (kind === 'file') return { ...about, kind, size, attributes }
  if (kind === 'socket') throw new AwError('internal', 'A socket has no place in an archive')
  return { ...about, kind, attributes, ...((kind === 'char' || kind === 'block') && { major, minor }) }
}

function attributesOf(path: string, directory: number, name: string): Member['attributes'] {
  const place = atBytes(directory, name === '' ? '.' : name)
  const found = readAttributes(place, 'layer').filter(([key]) => !key.startsWith(aclOfXfs))
  if (found.length === 0) return noContent.attributes
  const bytes = found.reduce((all, [key, value]) => all + key.length + value.length, 0)
  const most = maxExtendedBytes / 2
  if (bytes > most) throw overLimit('attributes', most, `cannot take ${bytes} bytes of attributes of ${asText(path)}`)
  return new Map(found.map(([key, value]) => [key, value.toString('latin1')]))
}

/** There each ACL is seen a second time, as an attribute that no other file system knows. */
const aclOfXfs = 'trusted.SGI_ACL_'

const tooLarge = (path: string): AwError =>
  new AwError('source_failed', `The tree cannot be packed: ${asText(path)} says that it has more than 8 PiB`, {
    hint: 'Remove it, and try again',
    data: { path: asText(path) },
  })

interface Content {
  /** As it is in the archive. */
  readonly member: Member
  readonly hash: string
}

/** Writes an entry, with what is in it. */
function* contentOf(out: Chunks, visit: Visit, member: Member): Generator<Buffer, Content, void> {
  if (member.kind !== 'file') {
    out.put(encodeMember(member, 0))
    return { member, hash: '' }
  }
  if (member.size === 0) {
    out.put(encodeMember(member, 0))
    return { member, hash: emptyHash }
  }
  const { fd, print } = openFile(visit)
  try {
    const content = yield* fileOf(out, fd, member)
    if (statEntry(fd, '')?.print !== print || decodeStat(print).size !== member.size) throw changed(visit.path)
    return content
  } finally {
    fs.closeSync(fd)
  }
}

const emptyHash = hash('sha256', '')

/** It has just been seen to be a file, in a tree that nobody else writes to. */
function openFile({ directory, name, print, path }: Visit): { fd: number; print: StatFingerprint } {
  const quick = ignoreErrors(['EACCES'], () =>
    fs.openSync(atBytes(directory, name), readFlags | fs.constants.O_NOFOLLOW),
  )
  if (quick !== undefined) return { fd: quick, print }
  const fd = openIfUnchanged(directory, name, print)
  if (fd === undefined) throw changed(path)
  // One that had to be unlocked has a new ctime.
  return { fd, print: statEntry(fd, '')?.print ?? '' }
}

const changed = (path: string): AwError =>
  new AwError('source_failed', `The tree was changed while it was packed: ${asText(path)}`, {
    hint: 'Try again when nothing writes to it; no archive was made',
    data: { path: asText(path) },
  })

function* fileOf(out: Chunks, fd: number, member: Member): Generator<Buffer, Content, void> {
  const segments = segmentsOf(fd, member.size)
  if (segments !== undefined) return yield* sparseFile(out, fd, member, segments)
  out.put(encodeMember(member, member.size))
  if (member.size <= chunkSize) {
    const bytes = out.reserve(member.size)
    readFully(fd, bytes, 0, member.path)
    out.fill(member.size)
    return { member, hash: hash('sha256', bytes) }
  }
  const sum = createHash('sha256')
  yield* copySegment(out, fd, { offset: 0, length: member.size }, sum, member.path)
  out.fill(member.size)
  return { member, hash: sum.digest('hex') }
}

function* sparseFile(
  out: Chunks,
  fd: number,
  plain: Member,
  segments: readonly Segment[],
): Generator<Buffer, Content, void> {
  const member: Member = { ...plain, sparse: true }
  const map = encodeSparseMap(segments, member.size)
  const stored = segments.reduce((all, { length }) => all + length, map.length)
  const sum = createHash('sha256').update(map)
  out.put(encodeMember(member, stored))
  out.put(map)
  for (const segment of segments) yield* copySegment(out, fd, segment, sum, member.path)
  out.fill(stored)
  return { member, hash: `s${sum.digest('hex')}` }
}

function* copySegment(
  out: Chunks,
  fd: number,
  { offset, length }: Segment,
  sum: ReturnType<typeof createHash>,
  path: string,
): Generator<Buffer, void, void> {
  for (let done = 0; done < length;) {
    const bytes = out.reserve(Math.min(chunkSize, length - done))
    readFully(fd, bytes, offset + done, path)
    sum.update(bytes)
    done += bytes.length
    yield* out.take()
  }
}

function readFully(fd: number, bytes: Buffer, position: number, path: string): void {
  for (let done = 0; done < bytes.length;) {
    const got = fs.readSync(fd, bytes, done, bytes.length - done, position + done)
    if (got === 0) throw changed(path)
    done += got
  }
}
