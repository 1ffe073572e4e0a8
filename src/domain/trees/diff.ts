/** One difference between two trees. A path is the bytes of its names, one character each (latin1). */
export interface Change {
  readonly path: string
  readonly change: 'added' | 'changed' | 'removed' | 'renamed'
  /** Where a renamed one was. */
  readonly from?: string | undefined
  /**
   * What differs in one that was changed, or renamed as well. Nothing of this in one that was changed: another time of
   * modification, or other names of the same file, of which only those are told who ask for exactly that.
   */
  readonly what: readonly ('content' | 'kind' | 'mode' | 'owner' | 'target' | 'attributes')[]
  readonly before: ChangeEntry | null
  readonly after: ChangeEntry | null
}

export interface ChangeEntry {
  readonly kind: 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'block' | 'char'
  readonly size: number
  readonly mode: number
  /** What a link says, as bytes (latin1). */
  readonly target?: string | undefined
}

/** An entry of a tree, with all that makes a difference; docs/guides/snapshots.md tells what does, and to whom. */
export interface DiffEntry extends ChangeEntry {
  /**
   * Equal if and only if the contents are, of two that are compared: at one path, or with one identity. A hash, say, or a
   * link's target. It is only asked for where the sizes are equal.
   */
  readonly content: string
  readonly owner: string
  /** Extended attributes and ACLs, as one text. */
  readonly attributes: string
  /** The same for one file under two names, if that is known: tells a rename from a removal and an addition. */
  readonly identity?: string | undefined
  /** What else makes a difference to who asks for an exact comparison. */
  readonly exact?: string | undefined
}

/**
 * That of an entry: when it was written, and which names are the same file: the first of them, say. What a directory tells
 * of this follows from what is in it.
 */
export const exactKey = (kind: ChangeEntry['kind'], mtime: bigint | number, names: string): string =>
  kind === 'directory' ? '' : `${mtime} ${names}`

/**
 * What differs between the entries of two trees, or of the parts of them that may differ: both sides hold the same
 * selection of paths. Ordered by path.
 */
export function diffEntries(before: ReadonlyMap<string, DiffEntry>, after: ReadonlyMap<string, DiffEntry>): Change[] {
  const added = [...after].filter(([path]) => !before.has(path))
  const removed = [...before].filter(([path]) => !after.has(path))
  const renames = pairRenames(removed, added)
  const gone = new Set(renames.values())
  const changes: Change[] = []
  for (const [path, entry] of added) {
    const from = renames.get(path)
    const old = from === undefined ? undefined : before.get(from)
    if (from === undefined || old === undefined) {
      changes.push({ path, change: 'added', what: [], before: null, after: shown(entry) })
    } else {
      changes.push({
        path,
        change: 'renamed',
        from,
        what: differences(old, entry),
        before: shown(old),
        after: shown(entry),
      })
    }
  }
  for (const [path, entry] of removed) {
    if (!gone.has(path)) changes.push({ path, change: 'removed', what: [], before: shown(entry), after: null })
  }
  for (const [path, entry] of after) {
    const old = before.get(path)
    const what = old === undefined ? [] : differences(old, entry)
    if (old !== undefined && (what.length > 0 || old.exact !== entry.exact))
      changes.push({ path, change: 'changed', what, before: shown(old), after: shown(entry) })
  }
  return changes.sort(byPath)
}

export const byPath = (a: { path: string }, b: { path: string }): number =>
  a.path < b.path ? -1 : a.path > b.path ? 1 : 0

/** By new path, where each was. A file with several names is no rename as long as one of them stays. */
function pairRenames(
  removed: readonly (readonly [string, DiffEntry])[],
  added: readonly (readonly [string, DiffEntry])[],
): Map<string, string> {
  const key = ({ kind, identity }: DiffEntry): string | undefined => identity && `${kind} ${identity}`
  const left = new Map<string, string>()
  for (const [path, entry] of removed) {
    const name = key(entry)
    if (name !== undefined && !left.has(name)) left.set(name, path)
  }
  const renames = new Map<string, string>()
  for (const [path, entry] of added) {
    const name = key(entry)
    const from = name === undefined ? undefined : left.get(name)
    if (name === undefined || from === undefined) continue
    renames.set(path, from)
    left.delete(name)
  }
  return renames
}

function differences(before: DiffEntry, after: DiffEntry): Change['what'] {
  if (before.kind !== after.kind) return ['kind']
  const isLink = after.kind === 'symlink'
  return [
    ...(hasSameContent(before, after) ? [] : [isLink ? ('target' as const) : ('content' as const)]),
    // The mode of a link says nothing.
    ...(before.mode === after.mode || isLink ? [] : ['mode' as const]),
    ...(before.owner === after.owner ? [] : ['owner' as const]),
    ...(before.attributes === after.attributes ? [] : ['attributes' as const]),
  ]
}

const hasSameContent = (before: DiffEntry, after: DiffEntry): boolean =>
  (after.kind !== 'file' || before.size === after.size) && before.content === after.content

const shown = (entry: DiffEntry): ChangeEntry => {
  const { kind, size, mode } = entry
  return kind === 'symlink'
    ? { kind, size, mode, target: entry.content }
    : { kind, size: kind === 'directory' ? 0 : size, mode }
}
