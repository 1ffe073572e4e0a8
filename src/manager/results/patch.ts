import type { Inputs, Outputs } from '../../api/table.ts'
import { baseNameOf, baseOf, nameOf } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { basePlace, isListedBase } from '../sources/base-trees.ts'
import { withContents } from '../diff/baseline.ts'
import type { Core, Request } from '../core.ts'
import { shownPath } from '../diff/differences.ts'
import { takeTree } from './commit-history.ts'
import { addFrozenTree, inGitBox, noBaselineToCompare, withExportContext, type ExportContext } from './context.ts'
import { omissionsOfContent } from '../snapshots/omissions.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { withFrozen } from '../snapshots/current-state.ts'
import { operandOf, type Operand } from '../diff/operands.ts'
import { initialSnapshot } from '../snapshots/lookup.ts'

/** What differs from the beginning, or from a snapshot, as git tells it. */
export async function exportPatch(
  core: Core,
  input: Inputs['export'],
  request: Request,
  side: Operand,
): Promise<Outputs['export']> {
  const { workspace } = side
  const since = input.since === undefined ? undefined : await operandOf(core, `${workspace.id}@${input.since}`)
  return withFrozen(core, request, side, ({ place: frozen, name: snapshot, left_out }) =>
    withExportContext({ core, request, workspace, frozen, ignored: input.ignored }, async (context) => {
      const { tree: from, tracked, missing = [] } = await beginning(context, since)
      const added = await addFrozenTree(
        context,
        { place: frozen },
        { tracked, ignored: context.ignored, without: missing },
      )
      const file = input.file === undefined || input.file === '-' ? null : { path: input.file, replace: input.replace }
      const { files, bytes, content } = await context.results.patch(from, added.tree, file)
      return {
        format: 'patch',
        file: file?.path ?? null,
        workspace: nameOf(workspace),
        snapshot,
        files,
        bytes,
        ignored: added.ignored,
        left_out: [
          ...omissionsOfContent(left_out, workspace),
          ...omissionsOfContent(missing, workspace, 'its earlier content was not kept'),
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

async function beginning(context: ExportContext, since: KnownTree | undefined): Promise<Beginning> {
  const { core, request, workspace, frozen } = context
  const tracked = await committed(context)
  const from = async (place: Place): Promise<Beginning> => {
    await using known = await withContents(core, request, { workspace, place })
    const missing: string[] = []
    const onMissing = (path: string): unknown => missing.push(shownPath(path))
    const { tree } = await addFrozenTree(context, { ...known, onMissing }, { tracked, ignored: context.ignored })
    return { tree, tracked, missing }
  }
  const place = since?.place ?? forkedFrom(context)
  if (place !== undefined) return from(place)
  if (tracked !== null) return { tree: tracked, tracked }
  const base = await baseOfIts(context)
  if (base !== undefined) return from(base)
  if (workspace.source.kind === 'empty') return { tree: null, tracked }
  // As aw diff has it.
  const first = await initialSnapshot(core, workspace)
  if (first === undefined) throw await noBaselineToCompare(core, workspace, frozen)
  return from(snapshotPlace(first))
}

function forkedFrom({ workspace }: ExportContext): Place | undefined {
  const snapshot = baseOf(workspace)
  return snapshot === null ? undefined : snapshotPlace(snapshot)
}

/** The tree of the commit that it all began with: from the base of that commit, else out of the repository inside. */
async function committed(context: ExportContext): Promise<string | null> {
  const { origin, core, results, maxBytes } = context
  if (origin?.commit === undefined) return null
  const { commit, base } = origin
  const isWhole = base !== undefined && base !== null && !(await isListedBase(core, base))
  if (isWhole && (await core.storage.exists(basePlace(base))))
    return (await addFrozenTree(context, { place: basePlace(base) }, { tracked: null, ignored: true })).tree
  const tree = await inGitBox(context, (box) => takeTree(box, results, commit, maxBytes))
  if (tree === undefined) throw await noBaselineToCompare(core, context.workspace, context.frozen)
  return tree
}

async function baseOfIts({ core, workspace }: ExportContext): Promise<Place | undefined> {
  const base = baseNameOf(workspace)
  return base !== null && (await core.storage.exists(basePlace(base))) ? basePlace(base) : undefined
}
