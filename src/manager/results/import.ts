import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { Core, Request } from '../core.ts'
import { create } from '../workspaces/create.ts'
import type { WorkspaceView } from '../kernel/view.ts'

export async function importArchive(core: Core, input: Inputs['import'], request: Request): Promise<WorkspaceView> {
  const { file, id, labels, trust } = input
  if (!file.startsWith('/'))
    throw new AwError('invalid_input', `file must be an absolute path, not ${JSON.stringify(file.slice(0, 200))}`, {
      hint: 'Name the file as it is called on the machine of aw',
      data: { field: 'file' },
    })
  const about = await core.archives.about(file)
  const name = id ?? (typeof about?.['name'] === 'string' ? about['name'] : undefined)
  if (name === undefined)
    throw new AwError('invalid_input', 'The archive does not say what workspace it was', {
      hint: 'Name the new one: aw import FILE TASK/AGENT',
      data: { field: 'id' },
    })
  return create(core, { id: name, from: { archive: file, trust }, labels }, request)
}
