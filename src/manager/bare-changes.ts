import { mostAgentFileBytes, withoutBlocks } from '../domain/agent-files.ts'
import { toAwError } from '../domain/errors.ts'
import type { Change, ChangeEntry } from '../domain/tree-diff.ts'
import { blocksAt } from './agent-blocks.ts'
import type { Core } from './core.ts'
import type { KnownTree } from './passing.ts'

/** A difference between two trees, as it is told. */
export interface ToldChange extends Change {
  /** What the two sides hold besides what aw has put there, if they hold that; null if there is nothing else. */
  readonly bare?: { readonly before: Buffer | null; readonly after: Buffer | null }
}

/**
 * A change without what aw has put into files for agents; undefined if nothing is left of it. Where that was changed or
 * taken away, it is part of what is told.
 */
export async function bareChange(
  core: Core,
  from: KnownTree,
  to: KnownTree,
  change: Change,
): Promise<ToldChange | undefined> {
  const [known, knows] = [blocksAt(from.workspace, change.path), blocksAt(to.workspace, change.path)]
  if (known.length + knows.length === 0 || change.change === 'renamed') return change
  // Its time or its names alone: that is nothing that aw has put there.
  if (change.change === 'changed' && change.what.length === 0) return change
  if (!isFileOrNothing(change.before) || !isFileOrNothing(change.after)) return change
  const was = await sideOf(core, from, change.before, change.path)
  const is = await sideOf(core, to, change.after, change.path)
  if (was === undefined || is === undefined) return change
  const isOneWorkspace = from.workspace.id === to.workspace.id
  // Somebody has taken it away, or has changed it.
  if (is.blocks === 0 && (was.blocks === 0 || isOneWorkspace)) return change
  return told(change, was.rest, is.rest)
}

const isFileOrNothing = (entry: ChangeEntry | null): boolean => entry === null || entry.kind === 'file'

/** Undefined if it cannot be read: a file may be huge, and a live tree may have lost it since. */
async function sideOf(core: Core, { workspace, place }: KnownTree, entry: ChangeEntry | null, path: string) {
  if (entry === null) return { rest: null, blocks: 0 }
  try {
    const content = await core.storage.read(place, path, { maxBytes: mostAgentFileBytes })
    return withoutBlocks(content, blocksAt(workspace, path))
  } catch (error) {
    const { code } = toAwError(error)
    if (code === 'file_too_large' || code === 'file_not_found' || code === 'not_a_file') return undefined
    throw error
  }
}

function told(change: Change, before: Buffer | null, after: Buffer | null): ToldChange | undefined {
  if (before === null && after === null) return undefined
  const bare = { before, after }
  const sized = (entry: ChangeEntry | null, rest: Buffer | null): ChangeEntry | null =>
    entry && rest && { ...entry, size: rest.length }
  const sides = { before: sized(change.before, before), after: sized(change.after, after) }
  if (before === null) return { ...change, ...sides, change: 'added', what: [], bare }
  if (after === null) return { ...change, ...sides, change: 'removed', what: [], bare }
  const isSame = before.equals(after)
  const what = isSame ? change.what.filter((one) => one !== 'content') : change.what
  return what.length === 0 ? undefined : { ...change, ...sides, what, bare }
}
