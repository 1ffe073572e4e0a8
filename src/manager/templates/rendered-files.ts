import type { AnyEvent } from '../../domain/log/event.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { cachedFold } from '../kernel/cached-fold.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { filled, fillPlaceholders } from './variables.ts'
import { openTree } from '../kernel/trees.ts'

/**
 * A workspace begins as its template with what was filled in for it; the base, which all of that template share, has only
 * the places for that. What a tree began as is therefore the base, and this.
 */

type Places = ReadonlyMap<string, readonly string[]>

/** By base. Also of templates that were removed since: workspaces are still made from them. */
const folded = cachedFold<Places>(['template_saved'], (events: Iterable<AnyEvent>, before: Places = new Map()) => {
  const places = new Map(before)
  for (const event of events) if (event.type === 'template_saved') places.set(event.data.base, event.data.files)
  return places
})

/** The files of a template in which something is filled in; undefined if no template has this base. */
export const renderedFilesOf = async ({ store }: Core, base: string): Promise<readonly string[] | undefined> =>
  (await folded(store, 'home')).get(base)

async function substitutionsOf(core: Core, { workspace: { source }, place }: KnownTree) {
  if (source.kind !== 'template' || place.area !== 'bases' || place.name !== source.base) return undefined
  return { files: (await renderedFilesOf(core, place.name)) ?? [], values: source.variables }
}

/** What makes of a file of the base what the workspace began with; undefined if it is the same. The path is bytes (latin1). */
export async function substitutionAt(
  core: Core,
  tree: KnownTree,
  path: string,
): Promise<((content: Buffer) => Buffer) | undefined> {
  const filling = await substitutionsOf(core, tree)
  if (filling?.files.includes(Buffer.from(path, 'latin1').toString()) !== true) return undefined
  return (content) => filled(content, filling.values)
}

/** Fills in what was filled in, in a tree that was made from the base. */
export async function applySubstitutions(
  core: Core,
  made: Place,
  from: KnownTree,
  at: (path: string) => string | undefined = (path) => path,
): Promise<void> {
  const { files, values } = (await substitutionsOf(core, from)) ?? { files: [], values: {} }
  const paths = files.flatMap((path) => at(path) ?? [])
  if (paths.length === 0) return
  using tree = await openTree(core, made)
  fillPlaceholders(tree, paths, values)
}
