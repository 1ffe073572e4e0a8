import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'

type Kind = 'commit' | 'tree' | 'blob'

/** Objects that are made here, and given to git all at once. */
export interface NewObjects {
  /** Answers its id. */
  add(kind: Kind, content: Buffer): string
  /** All of them, as git takes them. */
  pack(): Iterable<Buffer>
}

export function newObjects(sha256: boolean): NewObjects {
  const made = new Map<string, { kind: Kind; content: Buffer }>()
  return {
    add(kind, content) {
      const id = objectId(kind, content, sha256)
      made.set(id, { kind, content })
      return id
    },
    *pack() {
      const sum = createHash(sha256 ? 'sha256' : 'sha1')
      const summed = (part: Buffer): Buffer => {
        sum.update(part)
        return part
      }
      yield summed(headOf(made.size))
      for (const { kind, content } of made.values()) yield summed(entryOf(kind, content))
      yield sum.digest()
    },
  }
}

/** The id is that of the bytes, whoever gave them. */
export const objectId = (kind: Kind, content: Uint8Array, sha256: boolean): string =>
  createHash(sha256 ? 'sha256' : 'sha1')
    .update(`${kind} ${content.length}\0`)
    .update(content)
    .digest('hex')

function headOf(count: number): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  head.writeUInt32BE(count, 8)
  return head
}

const numbers: Readonly<Record<Kind, number>> = { commit: 1, tree: 2, blob: 3 }

/** Its kind and 4 bits of its size, then 7 bits at a time, the lowest first; then its bytes, compressed. */
function entryOf(kind: Kind, content: Buffer): Buffer {
  const bytes = [(numbers[kind] << 4) | (content.length & 15)]
  for (let left = content.length >> 4; left > 0; left >>= 7) {
    bytes.push((bytes.pop() ?? 0) | 128)
    bytes.push(left & 127)
  }
  return Buffer.concat([Buffer.from(bytes), deflateSync(content)])
}
