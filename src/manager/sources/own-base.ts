import { baseNameOf, type Imported, type Source, type Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { basePlace, basesOf, eraseBase, freezeBase, hasBases, isOwnBase, lockGroup, ownBase } from './base-trees.ts'
import type { Core, OperationRef, Request } from '../core.ts'
import { excludedPaths } from '../snapshots/lookup.ts'

/**
 * Where no base or snapshot shows what a workspace began as, its tree becomes a base of its own when it is made: `diff`
 * compares with it before there is any snapshot. Where a copy would cost what the tree costs, it is only listed, and
 * contents are looked for when somebody asks for them. It is named after the operation that made the tree, so that
 * whoever takes that over finds it, and goes with the workspace.
 */
export async function withOwnBase<T extends { readonly source: Source; readonly imported: Imported | null }>(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  place: Place,
  content: T,
): Promise<T> {
  const { source, imported } = content
  if (!isCopied(source) || baseNameOf(content) !== null) return content
  const { profile } = workspace
  const base = ownBase(operation)
  using _ = await lockGroup(core, request, base)
  if (!(await basesOf(core)).has(base)) {
    if (await core.storage.exists(basePlace(base))) await eraseBase(core, request, base, 'unfinished')
    const facts = { group: base, profile, source, imported, ...(!hasBases(core) && { listed: true as const }) }
    await freezeBase(core, request, place, base, facts, { exclude: excludedPaths(workspace) })
  }
  return { ...content, source: { ...source, base } }
}

type Copied = Extract<Source, { kind: 'folder' | 'git' | 'archive' | 'trash' | 'orphan' }>

/** All else begins as a base or a snapshot, or can be made again. */
const isCopied = (source: Source): source is Copied =>
  ['folder', 'git', 'archive', 'trash', 'orphan'].includes(source.kind)

/** Of a tree that was made anew, and nobody is left who knows from which state of the source. */
export const withoutStaleBase = (source: Source): Source =>
  isCopied(source) && (source.kind === 'folder' || isOwnBase(source.base ?? '')) ? { ...source, base: null } : source

/** What workspaces began as, and what those that are just being made will have begun as. */
export const usedBases = (workspaces: readonly Workspace[]): ReadonlySet<string> =>
  new Set(
    workspaces
      .filter(({ state }) => state !== 'purged')
      .flatMap((one) => [baseNameOf(one) ?? [], one.operation === null ? [] : ownBase(one.operation)].flat()),
  )

/** Absent = done. Needs the lock of the only workspace that began as it. */
export async function dropOwnBase(core: Core, request: Request, base: string | null): Promise<void> {
  if (base === null || !isOwnBase(base)) return
  if ((await basesOf(core)).has(base) || (await core.storage.exists(basePlace(base))))
    await eraseBase(core, request, base, 'unneeded')
}
