import type { Outputs } from '../../../api/table.ts'
import { columns, type Row } from '../columns.ts'
import { omittedSubvolumes } from '../basic.ts'
import { age, count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

/** Scripts take this line as it is, so it is the id and nothing else. */
export function snapshotCreated(output: Outputs['snapshot']): Rendered {
  const { id, label, files_changed: changed, consistency, meta, parent, created, key } = output
  if (!created)
    return { out: id, notice: `Kept already with the key ${JSON.stringify(key)}, as ${id}: nothing new was kept` }
  const amount = changed === 0 ? 'nothing' : count(changed ?? 0, 'path')
  const parts = [
    label === null ? 'Kept' : `Kept as ${JSON.stringify(label)}`,
    ...(changed === null ? [] : [`${amount} ${parent === null ? 'in it' : 'changed since the one before'}`]),
    consistency,
  ]
  const warnings = [
    ...(consistency === 'fuzzy'
      ? [`the tree was written to while it was kept, so ${id} may be a mixture; --consistent refuses that`]
      : []),
    ...(Array.isArray(meta['left_out']) ? [omittedSubvolumes(meta['left_out'])] : []),
  ]
  const warning = warnings.length === 0 ? {} : { warning: warnings.join('; ') }
  return { out: id, note: parts.join(', '), ...warning }
}

export const snapshotLabelled = ({ id, label }: Outputs['snapshot label'], view: View): Rendered => ({
  out: view.quiet ? '' : columns([], [[id, label ?? '']], view),
  ...(label === null ? { note: 'It has no label any more' } : {}),
})

export const snapshotsRemoved = ({ removed }: Outputs['snapshot remove'], { quiet }: View): Rendered => ({
  out: quiet ? '' : removed.join('\n'),
  note: `Erased ${count(removed.length, 'snapshot')} for good`,
})

export function described(output: Outputs['describe'], view: View): Rendered {
  const { workspace, head, branch, dirty, changes, snapshots } = output
  if (!view.terminal) {
    return {
      out: columns([], [[workspace, branch, head?.id ?? '-', dirty ? 'changed' : 'clean', String(changes)]], view),
    }
  }
  const { bold, yellow, green, dim } = view.paint
  if (head === null && snapshots > 0) {
    const out = `${bold(workspace)} on ${branch} has no head: its tree grew from none of its ${count(snapshots, 'snapshot')}`
    return { out, note: `See them: aw snapshots ${workspace}. Go back to one: aw restore ${workspace} SNAPSHOT` }
  }
  if (head === null) {
    const out = `${bold(workspace)} has no snapshot yet`
    return { out, note: `Take one with: aw snapshot ${workspace}` }
  }
  const label = head.label === null ? '' : ` ${JSON.stringify(short(head.label))}`
  const since = dirty ? yellow(`${count(changes, 'path')} changed since`) : green('nothing changed since')
  const about = dim(`(${age(head.created_at, view.now)})`)
  return {
    out: `${bold(workspace)} on ${branch} at ${head.id}${label} ${about}: ${since}`,
    ...(dirty ? { note: `See what: aw diff ${workspace}@head` } : {}),
  }
}

/** What follows it matters more than its end. */
const short = (label: string): string => (label.length > 30 ? `${label.slice(0, 29)}…` : label)

export function branches(output: Outputs['branch'], view: View): Rendered {
  if (view.quiet) return { out: output.branches.map(({ name }) => name).join('\n') }
  const rows = output.branches.map(({ name, snapshot, current }): Row => [
    current ? { text: '*', paint: view.paint.green } : '',
    { text: name, paint: current ? view.paint.green : view.paint.bold },
    { text: snapshot ?? '-', paint: view.paint.dim },
  ])
  const { moved } = output
  const notice = moved && `${moved.name} was moved from ${moved.from ?? 'nothing'} to ${moved.to ?? 'nothing'}`
  return { out: columns([], rows, view), ...(notice === null ? {} : { notice }) }
}
