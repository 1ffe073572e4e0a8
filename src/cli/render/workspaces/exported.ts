import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import { terminalSafe } from '../snapshots/diff.ts'
import { bytes, count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Export = Outputs['export']

/** Scripts take the file's name, the patch or the commit as it is. What is not in it is said. */
export function exported(output: Export, view: View): Rendered {
  const left = leftOut(output)
  return { ...shown(output, view), ...(left !== undefined && { warning: left }) }
}

function shown(output: Export, { terminal, paint }: View): Rendered {
  const { format, file, workspace, snapshot, files, bytes: size = 0, patch } = output
  const state = `${workspace} as it is in ${snapshot}`
  if (format === 'archive')
    return { out: file ?? '', note: `${state}: ${count(files, 'thing')}, ${bytes(size)}\ndigest ${output.digest}` }
  if (format === 'patch') {
    const note = files === 0 ? 'No difference' : `${state}: ${count(files, 'file')} changed`
    const content = typeof patch === 'string' ? Buffer.from(patch, 'base64') : (patch ?? new Uint8Array())
    return { out: file ?? (terminal ? terminalSafe(Buffer.from(content).toString(), paint) : content), note }
  }
  const what = `${count(output.commits ?? 0, 'commit')} on ${output.onto?.slice(0, 12) ?? 'nothing: it has no parent'}`
  const kept = output.history === true ? '' : ', without the history of the workspace'
  if (format === 'bundle') return { out: file ?? '', note: `${state}, branch ${output.branch}: ${what}${kept}` }
  const now = output.changed === true ? '' : ', as it was already'
  return { out: output.commit ?? '', note: `branch ${output.branch}${now}: ${what}${kept}` }
}

function leftOut({ ignored = 0, left_out: left = [], format }: Export): string | undefined {
  const some = left.slice(0, 5).map(({ path, reason }) => `${visible(path)} (${reason})`)
  const more = left.length > some.length ? ` and ${left.length - some.length} more` : ''
  const parts = [
    ...(left.length === 0 ? [] : [`left out: ${some.join(', ')}${more}`]),
    ...(ignored === 0 || format === 'archive'
      ? []
      : [`${count(ignored, 'thing')} that git ignores left out; --ignored takes them along`]),
  ]
  return parts.length === 0 ? undefined : parts.join('; ')
}
