import type { Inputs, Outputs } from '../../api/table.ts'
import { baseNameOf, baseOf, nameOf } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { basePlace, isListedBase } from '../sources/base-trees.ts'
import { withContents } from '../diff/baseline.ts'
import type { Core, Request } from '../core.ts'
import { shownPath } from '../diff/differences.ts'
import { takeTree } from './commit-history.ts'
import { inBox, nothingKept, treeFrom, withDesk, type Desk } from './context.ts'
import { leftOutOfContent } from '../snapshots/omissions.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { withFrozen } from '../snapshots/current-state.ts'
import { sideOf, type Side } from '../diff/operands.ts'
import { beforeAll } from '../snapshots/lookup.ts'

/** What differs from the beginning, or from a snapshot, as git tells it. */
export async function exportPatch(
  core: Core,
  input: Inputs['export'],
  request: Request,
  side: Side,
): Promise<Outputs['export']> {
  const { workspace } = side
  const since = input.since === undefined ? undefined : await sideOf(core, `${workspace.id}@${input.since}`)
  return withFrozen(core, request, side, ({ place: frozen, name: snapshot, left_out }) =>
    withDesk({ core, request, workspace, frozen, ignored: input.ignored }, async (desk) => {
      const { tree: from, tracked, missing = [] } = await beginning(desk, since)
      const added = await treeFrom(desk, { place: frozen }, { tracked, ignored: desk.ignored, without: missing })
      const file = input.file === undefined || input.file === '-' ? null : { path: input.file, replace: input.replace }
      const { files, bytes, content } = await desk.results.patch(from, added.tree, file)
      return {
        format: 'patch',
        file: file?.path ?? null,
        workspace: nameOf(workspace),
        snapshot,
        files,
        bytes,
        ignored: added.ignored,
        left_out: [
          ...leftOutOfContent(left_out, workspace),
          ...leftOutOfContent(missing, workspace, 'its earlier content was not kept'),
          ...added.left_out,
        ],
        ...(content !== null && { patch: new Uint8Array(content) }),
      }
    }),
  )
}

interface Beginning {
  /** Null for the empty one. */
  readonly tree: string | null
  /** What git has of it. */
  readonly tracked: string | null
  /** Files of it whose content is not to be had any more. */
  readonly missing?: readonly string[]
}

async function beginning(desk: Desk, since: KnownTree | undefined): Promise<Beginning> {
  const { core, request, workspace, frozen } = desk
  const tracked = await committed(desk)
  const from = async (place: Place): Promise<Beginning> => {
    await using known = await withContents(core, request, { workspace, place })
    const missing: string[] = []
    const onMissing = (path: string): unknown => missing.push(shownPath(path))
    const { tree } = await treeFrom(desk, { ...known, onMissing }, { tracked, ignored: desk.ignored })
    return { tree, tracked, missing }
  }
  const place = since?.place ?? forkedFrom(desk)
  if (place !== undefined) return from(place)
  if (tracked !== null) return { tree: tracked, tracked }
  const base = await baseOfIts(desk)
  if (base !== undefined) return from(base)
  if (workspace.source.kind === 'empty') return { tree: null, tracked }
  // As aw diff has it.
  const first = await beforeAll(core, workspace)
  if (first === undefined) throw await nothingKept(core, workspace, frozen)
  return from(snapshotPlace(first))
}

function forkedFrom({ workspace }: Desk): Place | undefined {
  const snapshot = baseOf(workspace)
  return snapshot === null ? undefined : snapshotPlace(snapshot)
}

/** The tree of the commit that it all began with: from the base of that commit, else out of the repository inside. */
async function committed(desk: Desk): Promise<string | null> {
  const { origin, core, results, maxBytes } = desk
  if (origin?.commit === undefined) return null
  const { commit, base } = origin
  const isWhole = base !== undefined && base !== null && !(await isListedBase(core, base))
  if (isWhole && (await core.storage.exists(basePlace(base))))
    return (await treeFrom(desk, { place: basePlace(base) }, { tracked: null, ignored: true })).tree
  const tree = await inBox(desk, (box) => takeTree(box, results, commit, maxBytes))
  if (tree === undefined) throw await nothingKept(core, desk.workspace, desk.frozen)
  return tree
}

async function baseOfIts({ core, workspace }: Desk): Promise<Place | undefined> {
  const base = baseNameOf(workspace)
  return base !== null && (await core.storage.exists(basePlace(base))) ? basePlace(base) : undefined
}
