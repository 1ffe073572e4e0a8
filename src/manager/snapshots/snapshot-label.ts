import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { checkedLabel } from './snapshot.ts'
import { ownSnapshot, snapshotsOf } from './lookup.ts'
import { snapshotView, type SnapshotView } from '../kernel/view.ts'

export async function labelSnapshot(
  core: Core,
  input: Inputs['snapshot label'],
  request: Request,
): Promise<SnapshotView> {
  const { id } = await findWorkspace(core, input.id)
  const label = labelOf(input)
  return withWorkspace(core, request, id, async (workspace) => {
    const found = ownSnapshot(workspace, await snapshotsOf(core, id), input.snapshot)
    const data = { ...nameFields(workspace), snapshot: found.snapshot, label }
    const after = await append(core, request, workspace, [newEvent(core, request, 'snapshot_labelled', data)])
    return snapshotView({ ...found, label }, after)
  })
}

/** A label that was forgotten on the way must not erase the one there is. */
function labelOf({ label, remove = false }: Inputs['snapshot label']): string | null {
  if (label !== undefined && !remove) return checkedLabel(label)
  if (label === undefined && remove) return null
  throw new AwError('invalid_input', remove ? 'A label is given or taken away, not both' : 'There is no label', {
    hint: 'Give a label, or --remove to take it away',
    data: { field: 'label' },
  })
}
