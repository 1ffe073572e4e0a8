import { maxAgentFileBytes, withoutBlocks } from '../../domain/workspace/agent-files.ts'
import { toAwError } from '../../domain/errors.ts'
import type { Change, ChangeEntry } from '../../domain/trees/diff.ts'
import { blocksAt } from '../workspaces/agent-blocks.ts'
import type { Core } from '../core.ts'
import { substitutionAt } from '../templates/rendered-files.ts'
import { readKnownFile, type KnownTree } from '../kernel/known-tree.ts'

/** A difference between two trees, as it is told. */
export interface VisibleChange extends Change {
  /**
   * What the two sides hold besides what aw has put there for agents, and with what was filled in, if there is any of that;
   * null if there is nothing else, undefined if it was not read.
   */
  readonly bare?: { readonly before: Buffer | null | undefined; readonly after: Buffer | null | undefined }
}

/**
 * A change without what aw has put into files for agents, and since what was filled in; undefined if nothing is left of it.
 * Where a block for agents was changed or taken away, it is part of what is told.
 */
export async function visibleChange(
  core: Core,
  from: KnownTree,
  to: KnownTree,
  change: Change,
): Promise<VisibleChange | undefined> {
  const { path } = change
  const blocks = blocksAt(from.workspace, path).length + blocksAt(to.workspace, path).length
  const [fillsFrom, fillsTo] = [await substitutionAt(core, from, path), await substitutionAt(core, to, path)]
  const isFilled = fillsFrom !== undefined || fillsTo !== undefined
  if ((blocks === 0 && !isFilled) || change.change === 'renamed') return change
  // Its time or its names alone: that is nothing that aw has put there.
  if (change.change === 'changed' && change.what.length === 0) return change
  if (!isFileOrNothing(change.before) || !isFileOrNothing(change.after)) return change
  const was = await sideOf(core, from, change.before, path, fillsFrom)
  const is = await sideOf(core, to, change.after, path, fillsTo, was?.content?.length)
  if (was === undefined || is === undefined)
    return isFilled ? withVisibleContent(change, was?.content, is?.content) : change
  const isOneWorkspace = from.workspace.id === to.workspace.id
  // Somebody has taken it away, or has changed it.
  const isWhole = is.blocks === 0 && (was.blocks === 0 || isOneWorkspace)
  if (!isWhole) return classifyVisible(change, was.rest, is.rest)
  return isFilled ? classifyVisible(change, was.content, is.content) : change
}

const isFileOrNothing = (entry: ChangeEntry | null): boolean => entry === null || entry.kind === 'file'

/** Undefined if it cannot be read: a file may be huge, and a live tree may have lost it since. */
async function sideOf(
  core: Core,
  tree: KnownTree,
  entry: ChangeEntry | null,
  path: string,
  fill: (content: Buffer) => Buffer = (content) => content,
  atLeast = 0,
) {
  if (entry === null) return { content: null, rest: null, blocks: 0 }
  // What was filled in may have made it larger.
  const maxBytes = Math.max(maxAgentFileBytes, atLeast)
  try {
    const content = fill(await readKnownFile(core, tree, path, { maxBytes }))
    return { content, ...withoutBlocks(content, blocksAt(tree.workspace, path)) }
  } catch (error) {
    const { code } = toAwError(error)
    if (code === 'file_too_large' || code === 'file_not_found' || code === 'not_a_file') return undefined
    throw error
  }
}

function classifyVisible(change: Change, before: Buffer | null, after: Buffer | null): VisibleChange | undefined {
  if (before === null && after === null) return undefined
  const shown = withVisibleContent(change, before, after)
  if (before === null) return { ...shown, change: 'added', what: [] }
  if (after === null) return { ...shown, change: 'removed', what: [] }
  const what = before.equals(after) ? change.what.filter((one) => one !== 'content') : change.what
  return what.length === 0 ? undefined : { ...shown, what }
}

function withVisibleContent(
  change: Change,
  before: Buffer | null | undefined,
  after: Buffer | null | undefined,
): VisibleChange {
  const sized = (entry: ChangeEntry | null, content: Buffer | null | undefined): ChangeEntry | null =>
    content === undefined ? entry : entry && content && { ...entry, size: content.length }
  return { ...change, before: sized(change.before, before), after: sized(change.after, after), bare: { before, after } }
}
