import type { Inputs, Outputs } from '../api/table.ts'
import { baseNameOf, baseOf, nameOf } from '../domain/workspace/state.ts'
import type { Place } from '../ports/storage-driver.ts'
import { basePlace } from './bases.ts'
import type { Core, Request } from './core.ts'
import { takeTree } from './export-history.ts'
import { inBox, nothingKept, treeFrom, withDesk, type Desk } from './export-tree.ts'
import { leftOutOfContent } from './left-out.ts'
import { snapshotPlace } from './places.ts'
import { withFrozen } from './present-state.ts'
import { sideOf, type Side } from './sides.ts'
import { beforeAll } from './snapshots.ts'

/** What differs from the beginning, or from a snapshot, as git tells it. */
export async function exportPatch(
  core: Core,
  input: Inputs['export'],
  request: Request,
  side: Side,
): Promise<Outputs['export']> {
  const { workspace } = side
  const since = input.since === undefined ? undefined : (await sideOf(core, `${workspace.id}@${input.since}`)).place
  return withFrozen(core, request, side, ({ place: frozen, name: snapshot, left_out }) =>
    withDesk({ core, request, workspace, frozen, ignored: input.ignored }, async (desk) => {
      const { tree: from, tracked } = await beginning(desk, since)
      const added = await treeFrom(desk, frozen, { tracked, ignored: desk.ignored })
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
        left_out: [...leftOutOfContent(left_out, workspace), ...added.left_out],
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
}

async function beginning(desk: Desk, since: Place | undefined): Promise<Beginning> {
  const tracked = await committed(desk)
  const place = since ?? forkedFrom(desk)
  if (place !== undefined) {
    const { tree } = await treeFrom(desk, place, { tracked, ignored: desk.ignored })
    return { tree, tracked }
  }
  if (tracked !== null) return { tree: tracked, tracked }
  const { workspace } = desk
  const base = await baseOfIts(desk)
  if (base !== undefined) return { ...(await treeFrom(desk, base, { tracked, ignored: desk.ignored })), tracked }
  if (workspace.source.kind === 'empty') return { tree: null, tracked }
  // As aw diff has it.
  const first = await beforeAll(desk.core, workspace)
  if (first === undefined) throw await nothingKept(desk.core, workspace)
  return { ...(await treeFrom(desk, snapshotPlace(first), { tracked, ignored: desk.ignored })), tracked }
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
  if (base !== undefined && base !== null && (await core.storage.exists(basePlace(base))))
    return (await treeFrom(desk, basePlace(base), { tracked: null, ignored: true })).tree
  const tree = await inBox(desk, (box) => takeTree(box, results, commit, maxBytes))
  if (tree === undefined) throw await nothingKept(core, desk.workspace)
  return tree
}

async function baseOfIts({ core, workspace }: Desk): Promise<Place | undefined> {
  const base = baseNameOf(workspace)
  return base !== null && (await core.storage.exists(basePlace(base))) ? basePlace(base) : undefined
}
