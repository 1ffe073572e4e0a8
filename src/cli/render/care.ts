import type { Outputs } from '../../api/table.ts'
import { kebab, visible } from '../text.ts'
import { columns, type Row } from './columns.ts'
import { bytes, count } from './units.ts'
import type { Shown, View } from './view.ts'

export function gc({ applied, items, bytes: total }: Outputs['gc'], view: View): Shown {
  if (items.length === 0) return { out: view.quiet ? '' : 'Nothing to erase' }
  const rows = items.map((item): Row => [
    item.workspace ?? item.tree,
    { text: bytes(item.bytes), right: true },
    item.error === null ? { text: item.reason, paint: view.paint.dim } : { text: item.error, paint: view.paint.red },
  ])
  const failed = items.filter((item) => item.error !== null).length
  const done = applied ? `Erased ${count(items.length - failed, 'tree')}` : `Would erase ${count(items.length, 'tree')}`
  const trouble = failed === 0 ? '' : `; ${failed} could not be erased`
  const table = columns(['WORKSPACE', { text: 'SIZE', right: true }, 'WHY'], rows, view)
  const sum = `${done}, ${bytes(total)}${trouble}`
  return applied ? { out: `${table}\n${sum}` } : { out: `${table}\n${sum}`, note: `Do it with: aw gc${flagsOf(view)}` }
}

/** What was shown is what is to be erased. */
const flagsOf = ({ input }: View): string =>
  Object.entries(input)
    .filter(([field, value]) => field !== 'plan' && value !== undefined)
    .map(([field, value]) => (value === true ? ` --${kebab(field)}` : ` --${kebab(field)} ${String(value)}`))
    .join('')

export function recover(output: Outputs['recover'], { paint }: View): Shown {
  const lines = [
    ...output.recovered.map((item) => `${paint.green('✓')} ${item.name}: ${item.operation} ${item.outcome}`),
    ...output.relinked.map((name) => `${paint.green('✓')} ${name}: its path was made anew`),
    ...output.leftovers.map((tree) => `${paint.green('✓')} ${tree}: an unfinished tree was erased`),
    ...output.busy.map(
      (item) => `${paint.yellow('!')} ${item.name}: process ${item.pid} is busy with ${item.operation}; left alone`,
    ),
    ...output.orphans.map((tree) => `${paint.yellow('!')} ${tree}: on disk but not in the log; kept`),
    ...output.found.map(
      (name) => `${paint.green('✓')} ${name}: its tree is there again, in the trash: aw undelete ${name}`,
    ),
    ...output.failed.map((item) => `${paint.red('✗')} ${item.name}: ${item.operation}: ${visible(item.message)}`),
    ...output.lost.map((name) => `${paint.red('✗')} ${name}: a tree or a snapshot of it is gone from the disk`),
  ]
  if (lines.length === 0) return { out: 'Nothing to recover: log and disk agree' }
  const notes = [
    ...(output.busy.length > 0 ? ['Take over from a stuck process with: aw recover ID --steal'] : []),
    ...(output.lost.length > 0 ? ['Make one that has snapshots anew from its last: aw undelete NAME'] : []),
  ]
  return { out: lines.join('\n'), ...(notes.length > 0 && { note: notes.join('; ') }) }
}

export function shutdown({ policy, results, timed_out }: Outputs['shutdown'], { paint }: View): Shown {
  const lines = results.map((item) => {
    if (item.ok) return `${paint.green('✓')} ${item.name}`
    const hint = item.error?.hint ?? null
    return `${paint.red('✗')} ${item.name}: ${visible(item.error?.message ?? 'failed')}${hint === null ? '' : ` (${visible(hint)})`}`
  })
  const end = timed_out ? '; the time ran out before all were done' : ''
  return { out: [...lines, `Policy ${policy}: ${count(results.length, 'workspace')}${end}`].join('\n') }
}
