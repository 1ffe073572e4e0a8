import { type OnData, readContent } from './content.ts'
import { type ArchiveHeader, parseHeader, reservedNameIn } from './header.ts'
import { type Input, readExactly, type Reading, truncated } from './input.ts'
import { type ArchiveLimits, maxHeaderBytes, maxPadding } from './limits.ts'
import { newManifest, pathAt } from './manifest.ts'
import { type Found, readMember } from './read-member.ts'
import { archiveRefused, overLimit } from './refusals.ts'
import { blockSize, isZero, padded } from './tar-header.ts'

/** What is done with the entries of an archive. Everything in it is untrusted, until all of it has been read. */
export interface Sink {
  /** Told once, before the entries; null if the archive is not ours. */
  header?(header: ArchiveHeader | null): void
  /** Answers where the bytes of a file go; undefined if they are not wanted. */
  begin(found: Found): OnData | undefined
  /** All its bytes were there. */
  end?(found: Found): void
}

/** How far it is. */
export interface Tally {
  entries: number
  bytes: number
}

export interface Outcome {
  /** Null if it is not ours. Else all was found to be as its manifest says. */
  readonly header: ArchiveHeader | null
  /** The hash of the manifest; for an archive that is not ours, of the one that it would have. */
  readonly digest: string
}

interface Own {
  readonly header: ArchiveHeader
  readonly bytes: Buffer
  /** The name at the top that the header and the manifest are under. */
  readonly reserved: string
}

/** Reads an archive to its end. Throws `source_failed` if anything is wrong with it, `limit_reached` if it is too much. */
export function* readArchive(input: Input, sink: Sink, limits: ArchiveLimits, tally: Tally): Reading<Outcome> {
  let found = yield* readMember(input, limits, false)
  const own = yield* readHeader(input, found)
  sink.header?.(own?.header ?? null)
  if (own !== undefined) found = yield* readMember(input, limits, true)
  const manifest = newManifest(own?.bytes)
  let last: string | undefined
  for (const prefix = own && `${own.reserved}/`; found && !isBelow(found, prefix);) {
    count(found, tally, limits)
    if (own) last = inOrder(found, last)
    const content = yield* readContent(input, found, sink.begin(found), own !== undefined)
    manifest.add(found.member, content)
    sink.end?.(found)
    found = yield* readMember(input, limits, own !== undefined)
  }
  const { bytes, digest } = manifest.seal()
  if (own) yield* compareManifest(input, found, own, bytes)
  yield* readEnd(input, own !== undefined)
  return { header: own?.header ?? null, digest }
}

const isBelow = ({ member }: Found, prefix: string | undefined): boolean =>
  prefix !== undefined && member.path.startsWith(prefix)

function* readHeader(input: Input, found: Found | undefined): Reading<Own | undefined> {
  const reserved = found && reservedNameIn(found.member.path)
  if (found === undefined || reserved === undefined || found.member.kind !== 'file') return undefined
  if (found.stored > maxHeaderBytes || found.member.sparse)
    throw archiveRefused('manifest', 'its first entry is damaged')
  const bytes = found.stored === 0 ? Buffer.alloc(0) : yield* readExactly(input, padded(found.stored))
  if (!isZero(bytes.subarray(found.stored))) throw archiveRefused('manifest', 'its first entry is damaged')
  const content = Buffer.from(bytes.subarray(0, found.stored))
  return { header: parseHeader(content), bytes: content, reserved }
}

function count({ member, stored }: Found, tally: Tally, limits: ArchiveLimits): void {
  tally.entries += 1
  tally.bytes += stored
  if (tally.entries > limits.entries) throw overLimit('entries', limits.entries, 'has more entries')
  if (tally.bytes > limits.bytes)
    throw overLimit('bytes', limits.bytes, `has more bytes, with ${member.size} in one file`)
}

/** In ours each path is there once, and a first name comes before the others. */
function inOrder({ member }: Found, last: string | undefined): string {
  const path = member.path === '.' ? '' : member.path
  if (last !== undefined && path <= last) throw archiveRefused('order', 'its entries are not in order', member.path)
  if (member.kind === 'hardlink' && member.target >= path)
    throw archiveRefused('order', 'its entries are not in order', member.path)
  return path
}

/** What was read tells what the manifest must be. */
function* compareManifest(input: Input, found: Found | undefined, own: Own, expected: Buffer): Reading<void> {
  if (found === undefined) throw archiveRefused('manifest', 'its manifest is missing')
  const { member, stored } = found
  if (member.path !== `${own.reserved}/manifest` || member.kind !== 'file' || member.sparse)
    throw archiveRefused('manifest', 'something stands in the place of its manifest', member.path)
  for (let position = 0; position < stored;) {
    const piece = yield* input.some(stored - position)
    const beside = expected.subarray(position, position + piece.length)
    if (!piece.equals(beside)) throw differs(expected, position + firstDifference(piece, beside))
    position += piece.length
  }
  if (stored !== expected.length) throw differs(expected, stored)
  const rest = padded(stored) - stored
  if (rest > 0 && !isZero(yield* readExactly(input, rest)))
    throw archiveRefused('trailing', 'there is something behind its manifest')
  if (!isZero(yield* readExactly(input, blockSize)))
    throw archiveRefused('trailing', 'there is something behind its manifest')
}

function firstDifference(one: Buffer, other: Buffer): number {
  const at = one.findIndex((byte, index) => byte !== other[index])
  return at === -1 ? other.length : at
}

const differs = (expected: Buffer, offset: number): Error =>
  archiveRefused('manifest', 'what it holds is not what its manifest says', pathAt(expected, offset))

/** One block of the end has been read. Ours have one more and nothing else; others may fill up with zeros. */
function* readEnd(input: Input, isOurs: boolean): Reading<void> {
  let zeros = 0
  for (;;) {
    const block = yield* input.take(blockSize)
    if (block === undefined) break
    zeros += block.length
    if (!isZero(block) || (isOurs && zeros > blockSize))
      throw archiveRefused('trailing', 'there is something behind its end (several archives in one file?)')
    if (zeros > maxPadding) throw overLimit('padding', maxPadding, 'has more zeros behind its end')
  }
  if (isOurs && zeros === 0) throw truncated()
}
