import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { nameOf } from '../../domain/workspace/state.ts'
import { withoutAgentBlocks } from '../workspaces/agent-blocks.ts'
import { withContents } from '../diff/baseline.ts'
import type { Core, Request } from '../core.ts'
import { exportBranch, exportBundle } from './commits.ts'
import { exportPatch } from './patch.ts'
import { omissionsBelow } from '../snapshots/omissions.ts'
import { withFrozen } from '../snapshots/current-state.ts'
import { withCopy } from '../files/scratch.ts'
import { operandOf, type Operand } from '../diff/operands.ts'
import { workspaceArchiveHeader } from '../sources/workspace-archive.ts'

type Input = Inputs['export']
type Result = Outputs['export']
type Form = Result['format']

/** What a workspace holds, in the form that was asked for. */
export async function exportResults(core: Core, input: Input, request: Request): Promise<Result> {
  const form = formOf(input)
  for (const file of [input.file, input.bundle]) if (file?.startsWith('/')) core.host.assertTarget(file)
  const side = await operandOf(core, input.of)
  return forms[form](core, input, request, side)
}

const forms: Readonly<Record<Form, (core: Core, input: Input, request: Request, side: Operand) => Promise<Result>>> = {
  archive: exportArchive,
  patch: exportPatch,
  branch: exportBranch,
  bundle: exportBundle,
}

function formOf(input: Input): Form {
  const asked = (['patch', 'branch', 'bundle'] as const).filter(
    (form) => input[form] !== undefined && input[form] !== false,
  )
  const [form = 'archive', ...others] = asked
  if (others.length > 0) throw wrong(`One form at a time, not ${asked.join(' and ')}`, others[0] ?? form)
  const isFile = input.file !== undefined && input.file !== '-'
  if (form === 'archive' && !isFile) throw wrong('A file is needed for an archive', 'file')
  if ((form === 'branch' || form === 'bundle') && input.file !== undefined)
    throw wrong(`A ${form} is not written to ${input.file}`, 'file')
  for (const [field, of] of Object.entries(belonging))
    if (input[field as keyof Input] !== undefined && !of.includes(form))
      throw wrong(`${field} says nothing about ${form === 'archive' ? 'an' : 'a'} ${form}`, field)
  for (const field of ['file', 'bundle', 'repo'] as const) assertAbsolute(input[field], field)
  return form
}

/** Where this process happens to stand means nothing to whoever asks a daemon. */
function assertAbsolute(path: string | undefined, field: string): void {
  if (path === undefined || path === '-' || path.startsWith('/')) return
  throw wrong(`${field} must be an absolute path, not ${JSON.stringify(path.slice(0, 200))}`, field)
}

const belonging: Partial<Record<keyof Input, readonly Form[]>> = {
  since: ['patch'],
  repo: ['branch'],
  onto: ['branch'],
  overwrite: ['branch'],
  squash: ['branch', 'bundle'],
  message: ['branch', 'bundle'],
  ignored: ['patch', 'branch', 'bundle'],
  replace: ['archive', 'patch', 'bundle'],
}

const wrong = (message: string, field: string): AwError =>
  new AwError('invalid_input', message, {
    hint: 'aw export ID FILE writes an archive; --patch [FILE], --branch NAME --repo PATH and --bundle FILE write results',
    data: { field },
  })

async function exportArchive(core: Core, input: Input, request: Request, side: Operand): Promise<Result> {
  const { workspace } = side
  const file = input.file ?? ''
  return withFrozen(core, request, side, async ({ place: frozen, name: snapshot, left_out }) => {
    await using from = await withContents(core, request, { workspace, place: frozen })
    const packed = await withCopy(core, request, from, async (place) => {
      await withoutAgentBlocks(core, place, workspace)
      using reached = await core.storage.reach(place)
      return await core.archives.pack(reached.path, file, {
        about: { ...workspaceArchiveHeader(core, workspace), snapshot },
        exclude: [profileOf(workspace.profile).metadata],
        replace: input.replace,
        signal: request.signal,
        onProgress: (done) => request.onProgress?.({ phase: 'packing', ...done }),
      })
    })
    const left = omissionsBelow(left_out, '.')
    const about = { format: 'archive' as const, file, workspace: nameOf(workspace), snapshot, ...packed }
    return left.length === 0 ? about : { ...about, left_out: left }
  })
}
