import type { Outputs } from '../../api/table.ts'
import { visible } from '../text.ts'
import { count } from './units.ts'
import type { Shown, View } from './view.ts'

type Restored = Outputs['restore']

const most = 5

/** Each says what is true now and, to a person, how to go back. */
export const restored = (output: Restored, view: View): Shown => {
  const { workspace, kept } = output
  const how = kept === null ? `aw undo ${workspace}` : `aw restore ${workspace} ${kept}`
  return told(output, view, `What was there is kept. Go back with: ${how}`)
}

export const undone = (output: Restored, view: View): Shown =>
  told(output, view, `Take it back with: aw redo ${output.workspace}`)

export const redone = (output: Restored, view: View): Shown =>
  told(output, view, `Take it back with: aw undo ${output.workspace}`)

function told(output: Restored, view: View, note: string): Shown {
  const { workspace, snapshot, paths, changes, added, changed, removed } = output
  if (view.quiet) return { out: '' }
  const total = added + changed + removed
  const what = paths === null ? workspace : `${count(paths.length, 'path')} of ${workspace}`
  const verb = paths === null || paths.length === 1 ? 'is' : 'are'
  if (total === 0) return { out: `${what} ${verb} as in ${snapshot}; nothing had to change` }
  const counts = [
    ...(added > 0 ? [`${added} came back`] : []),
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
  ]
  const first = `${what} ${verb} as in ${snapshot} now: ${counts.join(', ')}`
  return { out: [first, ...(view.terminal ? some(changes, total, view) : [])].join('\n'), note }
}

function some(changes: readonly string[], total: number, { paint }: View): string[] {
  const shown = changes.slice(0, most)
  const more = total - shown.length
  return [...shown.map((path) => `  ${visible(path)}`), ...(more > 0 ? [paint.dim(`  and ${more} more`)] : [])]
}
