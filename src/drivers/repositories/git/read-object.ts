import { closeSync, readSync } from 'node:fs'
import { constants, inflateSync } from 'node:zlib'
import type { Folder } from '../../../sys/git/folder.ts'
import { packsIn } from './objects.ts'

/**
 * What a tag leads to, read from the files of a repository that somebody else may have written: undefined where git has
 * to be asked, or where they make no sense. The answer is an id and nothing more; git checks what it finds under it.
 */
export function peel(objects: Folder, id: string): string | undefined {
  let here = id
  for (let step = 0; step < 10; step++) {
    const object = readLoose(objects, here) ?? readPacked(objects, here)
    if (object?.kind === 'commit') return here
    const [, next, kind] = /^object ([0-9a-f]{40,64})\ntype (commit|tag)\n/.exec(object?.text ?? '') ?? []
    if (object?.kind !== 'tag' || next === undefined) return undefined
    if (kind === 'commit') return next
    here = next
  }
  return undefined
}

interface SmallObject {
  readonly kind: 'commit' | 'tag' | 'other'
  /** How it begins. */
  readonly text: string
}

const enough = 4096

function readLoose(objects: Folder, id: string): SmallObject | undefined {
  const content = objects.read(`${id.slice(0, 2)}/${id.slice(2)}`, 1024 * 1024)
  const text = content && beginning(content)
  const [head, kind] = /^(\w+) \d+\0/.exec(text ?? '') ?? []
  if (text === undefined || head === undefined) return undefined
  return { kind: kind === 'commit' || kind === 'tag' ? kind : 'other', text: text.slice(head.length) }
}

function beginning(compressed: Buffer): string | undefined {
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 16 * 1024 * 1024 }
    return inflateSync(compressed, options).toString('latin1', 0, enough)
  } catch {
    return undefined
  }
}

function readPacked(objects: Folder, id: string): SmallObject | undefined {
  for (const name of packsIn(objects)) {
    const offset = withFile(objects, `pack/${name}.idx`, (index) => offsetIn(index, Buffer.from(id, 'hex')))
    if (offset !== undefined) return withFile(objects, `pack/${name}.pack`, (pack) => objectAt(pack, offset))
  }
  return undefined
}

function withFile<T>(objects: Folder, path: string, use: (read: Read) => T): T | undefined {
  const fd = objects.open(path)
  if (fd === undefined) return undefined
  try {
    return use((position, length) => {
      const bytes = Buffer.alloc(length)
      return bytes.subarray(0, readSync(fd, bytes, 0, length, position))
    })
  } finally {
    closeSync(fd)
  }
}

type Read = (position: number, length: number) => Buffer

const headerBytes = 8
const fanBytes = 1024

/** Where the object is in the pack; undefined if it is not, or if the index is of another version than the second. */
function offsetIn(read: Read, id: Buffer): number | undefined {
  const start = read(0, headerBytes + fanBytes)
  if (start.length < headerBytes + fanBytes || start.toString('hex', 0, headerBytes) !== 'ff744f6300000002')
    return undefined
  const fan = (byte: number): number => (byte < 0 ? 0 : start.readUInt32BE(headerBytes + 4 * byte))
  const count = fan(255)
  const ids = headerBytes + fanBytes
  let [low, high] = [fan((id[0] ?? 0) - 1), fan(id[0] ?? 0)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const order = id.compare(read(ids + middle * id.length, id.length))
    if (order === 0) {
      const at = read(ids + count * (id.length + 4) + 4 * middle, 4)
      const offset = at.length === 4 ? at.readUInt32BE() : 2 ** 31
      return offset < 2 ** 31 ? offset : undefined
    }
    if (order < 0) high = middle
    else low = middle + 1
  }
  return undefined
}

/** An object that is stored as a difference from another is not read here. */
function objectAt(read: Read, offset: number): SmallObject | undefined {
  const bytes = read(offset, enough)
  const kind = ((bytes[0] ?? 0) >> 4) & 7
  if (kind === 1) return { kind: 'commit', text: '' }
  if (kind !== 4) return kind < 4 ? { kind: 'other', text: '' } : undefined
  let header = 0
  while ((bytes[header] ?? 0) & 0x80) header++
  const text = beginning(bytes.subarray(header + 1))
  return text === undefined ? undefined : { kind: 'tag', text }
}
