import { createHash, hash } from 'node:crypto'
import { type Input, readExactly, type Reading } from './input.ts'
import type { Found } from './read-member.ts'
import { archiveRefused } from './refusals.ts'
import { type Segment, sparseMapReader } from './sparse-map.ts'
import { blockSize, isZero, padded } from './tar-header.ts'

export type OnData = (bytes: Buffer, position: number) => void

/**
 * Reads the data of an entry, and what fills up its last block. Answers the hash of what is stored: of a file with holes
 * its map too, and an `s` before it.
 */
export function* readContent(input: Input, found: Found, onData: OnData | undefined, strict: boolean): Reading<string> {
  if (found.member.kind !== 'file') return ''
  const { stored } = found
  const content = found.member.sparse ? yield* sparse(input, found, onData) : yield* plain(input, stored, onData)
  const rest = padded(stored) - stored
  if (rest > 0 && !isZero(yield* readExactly(input, rest)) && strict)
    throw archiveRefused('manifest', 'there is something between two entries', found.member.path)
  return content
}

function* plain(input: Input, stored: number, onData: OnData | undefined): Reading<string> {
  if (stored === 0) return emptyHash
  const first = yield* input.some(stored)
  onData?.(first, 0)
  if (first.length === stored) return hash('sha256', first)
  const sum = createHash('sha256').update(first)
  for (let position = first.length; position < stored;) {
    const piece = yield* input.some(stored - position)
    onData?.(piece, position)
    sum.update(piece)
    position += piece.length
  }
  return sum.digest('hex')
}

const emptyHash = hash('sha256', '')

function* sparse(input: Input, { member, stored }: Found, onData: OnData | undefined): Reading<string> {
  const sum = createHash('sha256')
  const map = sparseMapReader(member.size)
  let segments: readonly Segment[] | undefined
  while (segments === undefined) {
    if (map.bytes + blockSize > stored)
      throw archiveRefused('sparse_map', 'a map of holes in it is damaged', member.path)
    const block = yield* readExactly(input, blockSize)
    sum.update(block)
    segments = map.push(block)
  }
  const data = segments.reduce((all, { length }) => all + length, 0)
  if (data !== stored - map.bytes) throw archiveRefused('sparse_map', 'a map of holes in it is damaged', member.path)
  for (const { offset, length } of segments) {
    for (let done = 0; done < length;) {
      const piece = yield* input.some(length - done)
      onData?.(piece, offset + done)
      sum.update(piece)
      done += piece.length
    }
  }
  return `s${sum.digest('hex')}`
}
