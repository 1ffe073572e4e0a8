import { subvolumeInfo } from './ioctls.ts'
import { ITEM, searchObject, searchSince } from './search.ts'

/** What a subvolume's tree says about inodes. Only for root, and of what is committed. */

export interface InodeTree {
  /** Of the subvolume, open for reading. */
  readonly fd: number
  readonly tree: bigint
}

export const inodeTree = (fd: number): InodeTree => ({ fd, tree: subvolumeInfo(fd).id })

/** Those that were changed after a transaction; a new one is nothing that was there before, whatever its number. */
export function* touchedInodes(
  { fd, tree }: InodeTree,
  since: bigint,
): Generator<{ readonly inode: bigint; readonly isNew: boolean }> {
  for (const { type, object, data } of searchSince(fd, tree, since)) {
    if (type !== ITEM.INODE || data.readBigUInt64LE(8) <= since) continue
    yield { inode: object, isNew: data.readBigUInt64LE(0) > since }
  }
}

const KIND = { MASK: 0o170000, DIRECTORY: 0o040000, FILE: 0o100000 } as const

/** How large it is, if it is a file that has a name; undefined if there is none. */
export function inodeOf(
  { fd, tree }: InodeTree,
  inode: bigint,
): { readonly bytes: number; readonly isDirectory: boolean } | undefined {
  for (const { data } of searchObject(fd, tree, inode, ITEM.INODE)) {
    const kind = data.readUInt32LE(52) & KIND.MASK
    const isNamedFile = kind === KIND.FILE && data.readUInt32LE(40) > 0
    return { bytes: isNamedFile ? Number(data.readBigUInt64LE(16)) : 0, isDirectory: kind === KIND.DIRECTORY }
  }
  return undefined
}

export interface Entry {
  readonly inode: bigint
  /** The number is that of a subvolume, not of an inode of this tree. */
  readonly isSubvolume: boolean
  /** As the directory has it. */
  readonly type: number
  readonly isDirectory: boolean
}

const DIRECTORY = 2

/** What is in a directory, names as bytes; nothing if it is none. */
export function entriesOf({ fd, tree }: InodeTree, inode: bigint): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  for (const { data } of searchObject(fd, tree, inode, ITEM.DIR_INDEX)) {
    const [isSubvolume, type] = [data.readUInt8(8) === ITEM.ROOT_ITEM, data.readUInt8(29)]
    entries.set(data.toString('latin1', 30, 30 + data.readUInt16LE(27)), {
      inode: data.readBigUInt64LE(0),
      isSubvolume,
      type,
      isDirectory: type === DIRECTORY && !isSubvolume,
    })
  }
  return entries
}
