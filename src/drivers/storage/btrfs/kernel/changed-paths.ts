import { entriesOf, type Entry, inodeTree, type InodeTree, touchedInodes } from './inodes.ts'
import { firstInode, ITEM, searchObject } from './search.ts'

export interface ChangedPaths {
  readonly paths: ReadonlySet<string>
  /** Paths, on each side, of what was made since: it is nothing that the other side has, whatever its inode number. */
  readonly newBefore: ReadonlySet<string>
  readonly newAfter: ReadonlySet<string>
}

/**
 * Every path that may differ between two subvolumes that were the same in a transaction, and some that do not: those of
 * what was written to since on either side, what came to or left a directory, and all below a directory that has
 * another place. The cost follows what was written, not what is there.
 *
 * An inode says itself which transaction it was last changed in, be it by a write, a link or an attribute, and so does
 * a directory that a name was added to or removed from. Both must be committed: take snapshots of live ones.
 * @param exclude names directly below the root that are left out
 */
export function changedPaths(
  before: number,
  after: number,
  since: bigint,
  exclude: readonly string[] = [],
): ChangedPaths {
  const sides = [openSide(before, exclude), openSide(after, exclude)] as const
  const paths = new Set<string>()
  const news = sides.map((side) => {
    const touched = [...touchedInodes(side, since)]
    for (const { inode } of touched) side.touched.add(inode)
    return new Set(touched.flatMap(({ inode, isNew }) => (isNew ? pathsOf(side, inode) : [])))
  })
  for (const inode of new Set([...sides[0].touched, ...sides[1].touched])) {
    for (const side of sides) for (const path of pathsOf(side, inode)) paths.add(path)
    const [old, now] = [entriesOf(sides[0], inode), entriesOf(sides[1], inode)]
    addOthers(sides[0], inode, old, now, paths)
    addOthers(sides[1], inode, now, old, paths)
  }
  paths.delete('')
  const [newBefore = paths, newAfter = paths] = news
  return { paths, newBefore, newAfter }
}

interface Side extends InodeTree {
  readonly excluded: ReadonlySet<string>
  readonly touched: Set<bigint>
  readonly paths: Map<bigint, readonly string[]>
}

const openSide = (fd: number, exclude: readonly string[]): Side => ({
  ...inodeTree(fd),
  excluded: new Set(exclude),
  touched: new Set(),
  paths: new Map([[firstInode, ['']]]),
})

/** All names of an inode, as paths; none if it is not there, or has lost its last name while it was open. */
function pathsOf(side: Side, inode: bigint): readonly string[] {
  const known = side.paths.get(inode)
  if (known !== undefined) return known
  const paths = namesOf(side, inode).flatMap(({ parent, name }) =>
    parent === firstInode && side.excluded.has(name) ? [] : pathsOf(side, parent).map((above) => join(above, name)),
  )
  side.paths.set(inode, paths)
  return paths
}

function namesOf({ fd, tree }: Side, inode: bigint): { parent: bigint; name: string }[] {
  const names: { parent: bigint; name: string }[] = []
  for (const { type, offset, data } of searchObject(fd, tree, inode, ITEM.INODE_REF, ITEM.INODE_EXTREF)) {
    // Both hold several names one behind the other; the second form tells the parent with each.
    const head = type === ITEM.INODE_REF ? 8 : 16
    for (let position = 0; position < data.length;) {
      const parent = type === ITEM.INODE_REF ? offset : data.readBigUInt64LE(position)
      const start = position + head + 2
      const end = start + data.readUInt16LE(position + head)
      names.push({ parent, name: data.toString('latin1', start, end) })
      position = end
    }
  }
  return names
}

/** What one side has at a name and the other has not, with all that is below it. */
function addOthers(
  side: Side,
  directory: bigint,
  entries: ReadonlyMap<string, Entry>,
  others: ReadonlyMap<string, Entry>,
  paths: Set<string>,
): void {
  for (const [name, entry] of entries) {
    const other = others.get(name)
    if (other !== undefined && isSame(other, entry)) continue
    if (directory === firstInode && side.excluded.has(name)) continue
    for (const above of pathsOf(side, directory)) addAll(side, entry, join(above, name), paths)
  }
}

const isSame = (one: Entry, other: Entry): boolean =>
  one.inode === other.inode && one.type === other.type && one.isSubvolume === other.isSubvolume

function addAll(side: Side, entry: Entry, path: string, paths: Set<string>): void {
  const left: [Entry, string][] = [[entry, path]]
  for (let next = left.pop(); next; next = left.pop()) {
    const [here, at] = next
    paths.add(at)
    if (here.isDirectory) for (const [name, below] of entriesOf(side, here.inode)) left.push([below, join(at, name)])
  }
}

const join = (above: string, name: string): string => (above === '' ? name : `${above}/${name}`)
