import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

export async function label(core: Core, input: Inputs['label'], request: Request): Promise<WorkspaceView> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (workspace) => {
    assertAllowed(workspace, 'label')
    const wanted: Record<string, string> = { ...workspace.labels, ...input.labels }
    for (const key of input.remove ?? []) delete wanted[key]
    const labels = checkedLabels(wanted)
    return view(
      core,
      await append(core, request, workspace, [
        newEvent(core, request, 'workspace_labelled', { ...nameFields(workspace), labels }),
      ]),
    )
  })
}

const maxLabels = 64

/** Labels are for finding things by; they are not a place for documents. */
export function checkedLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  const count = Object.keys(labels).length
  if (count > maxLabels) {
    throw new AwError('invalid_input', `${count} labels are too many: a workspace has ${maxLabels} at the most`, {
      hint: 'Keep what is more than a word or two in a file of the workspace',
      data: { field: 'labels', count, limit: maxLabels },
    })
  }
  for (const [key, value] of Object.entries(labels)) {
    if (/^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/.test(key) && value.length <= 200 && !/\p{Cc}/u.test(value)) continue
    throw new AwError('invalid_input', `${JSON.stringify(key.slice(0, 80))} is not a usable label`, {
      hint: 'A key is up to 63 letters, digits, ".", "_", "/" or "-"; a value up to 200 characters on one line',
      data: { field: 'labels' },
    })
  }
  return { ...labels }
}
