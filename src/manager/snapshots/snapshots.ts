import type { Inputs, Outputs } from '../../api/table.ts'
import { baseOf } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { boundedMeasure, defaultBounds, type MeasureTree } from '../space/measure.ts'
import { snapshotAt, snapshotsOf } from './lookup.ts'
import { snapshotView, type SnapshotView } from '../kernel/view.ts'

export async function snapshots(
  core: Core,
  input: Inputs['snapshots'],
  request: Request,
): Promise<Outputs['snapshots']> {
  const workspace = await findWorkspace(core, input.id)
  const all = [...(await snapshotsOf(core, workspace.id)).values()]
  const newest = input.limit === undefined ? all : all.slice(-input.limit)
  const base = input.base === true ? await snapshotAt(core, workspace, baseOf(workspace)) : null
  const views = [
    ...(base === null ? [] : [{ ...base, base: true }]),
    ...newest.map((one) => snapshotView(one, workspace)),
  ]
  if (input.sizes !== true) return views
  const ruler = boundedMeasure(core, request, views.length, defaultBounds)
  const sized: SnapshotView[] = []
  // The newest first: if there are more than can be measured, those are asked for.
  for (const one of views.toReversed()) sized.push({ ...one, ...(await sizesOf(one, ruler)) })
  return sized.toReversed()
}

/** Null of what was not measured whole, or has gone since the list was read. */
async function sizesOf(
  { id }: SnapshotView,
  ruler: MeasureTree,
): Promise<Pick<SnapshotView, 'size_bytes' | 'own_bytes'>> {
  const measured = await ruler(snapshotPlace(id), { own: true }).catch(() => undefined)
  if (measured?.complete !== true) return { size_bytes: null, own_bytes: null }
  return { size_bytes: measured.bytes, own_bytes: measured.own ?? null }
}
