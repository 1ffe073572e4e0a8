import { calls } from './ioctls.ts'

/**
 * Reads the trees that btrfs keeps, item by item, in the order of their keys. Only root may. What has not been committed
 * yet is not seen: a snapshot has all of it, a live subvolume may not.
 */

const TREE_SEARCH_V2 = 0xc0709411

export const TREE = { ROOT: 1n, QUOTA: 8n } as const
export const ITEM = {
  INODE: 1,
  INODE_REF: 12,
  INODE_EXTREF: 13,
  DIR_INDEX: 96,
  ROOT_ITEM: 132,
  QGROUP_INFO: 242,
  QGROUP_LIMIT: 244,
} as const

export interface Key {
  readonly object: bigint
  readonly type: number
  readonly offset: bigint
}

/** `data` is valid until the next item is asked for. */
export interface Item extends Key {
  readonly data: Buffer
}

export interface SearchRange {
  readonly from: Key
  readonly to: Key
  /** Leaves that were last written before this transaction are passed over. */
  readonly since?: bigint
}

const most = 0xffff_ffff_ffff_ffffn
const room = 256 * 1024
/** No item is larger than the largest block that btrfs can be made with. */
const largest = 65 * 1024
/** A search within a search has another one. */
const pages: Buffer[] = []

/** @param fd any descriptor in the file system */
export function* searchTree(fd: number, tree: bigint, { from, to, since = 0n }: SearchRange): Generator<Item> {
  let next: Key | undefined = from
  while (next !== undefined) {
    const buffer = pages.pop() ?? Buffer.alloc(112 + room)
    const start: Key = next
    for (const [i, value] of [tree, start.object, to.object, start.offset, to.offset, since, most].entries())
      buffer.writeBigUInt64LE(value, 8 * i)
    buffer.writeUInt32LE(start.type, 56)
    buffer.writeUInt32LE(to.type, 60)
    buffer.writeUInt32LE(0xffff_ffff, 64)
    buffer.fill(0, 68, 104)
    buffer.writeBigUInt64LE(BigInt(room), 104)
    let last: Key | undefined
    let position = 112
    try {
      calls().ioctl(fd, TREE_SEARCH_V2, buffer)
      for (let left = buffer.readUInt32LE(64); left > 0; left--) {
        const length = buffer.readUInt32LE(position + 28)
        last = {
          object: buffer.readBigUInt64LE(position + 8),
          offset: buffer.readBigUInt64LE(position + 16),
          type: buffer.readUInt32LE(position + 24),
        }
        yield { ...last, data: buffer.subarray(position + 32, position + 32 + length) }
        position += 32 + length
      }
    } finally {
      pages.push(buffer)
    }
    // Where any other item would have found room, there is none.
    next = position + largest > room ? last && after(last) : undefined
    if (next && isBehind(next, to)) next = undefined
  }
}

function after({ object, type, offset }: Key): Key | undefined {
  if (offset < most) return { object, type, offset: offset + 1n }
  if (type < 255) return { object, type: type + 1, offset: 0n }
  return object < most ? { object: object + 1n, type: 0, offset: 0n } : undefined
}

const isBehind = (key: Key, end: Key): boolean =>
  key.object === end.object
    ? key.type === end.type
      ? key.offset > end.offset
      : key.type > end.type
    : key.object > end.object

/** All items of these types of one object. */
export const searchObject = (fd: number, tree: bigint, object: bigint, first: number, last = first): Generator<Item> =>
  searchTree(fd, tree, { from: { object, type: first, offset: 0n }, to: { object, type: last, offset: most } })

/** Everything in a subvolume's tree that was written in a transaction after `since`, and what lies in one leaf with it. */
export const searchSince = (fd: number, tree: bigint, since: bigint): Generator<Item> =>
  searchTree(fd, tree, {
    from: { object: firstInode, type: 0, offset: 0n },
    to: { object: lastInode, type: 255, offset: most },
    since: since + 1n,
  })

/** The root directory of every subvolume. */
export const firstInode = 256n
const lastInode = 0xffff_ffff_ffff_ff00n
