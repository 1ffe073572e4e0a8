import { stripVTControlCharacters } from 'node:util'
import type { Outputs } from '../../../api/table.ts'
import { wrap } from '../../output/layout.ts'
import { visible } from '../../../domain/text/visible.ts'
import { kebab } from '../../input/flags.ts'
import { columns, type Row } from '../columns.ts'
import { bytes, count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

export function gc(output: Outputs['gc'], view: View): Rendered {
  const { applied, items, kept, space } = output
  const parts = [table(output, view), keptLines(output, view), ...(view.quiet ? [] : [sumOf(output)])]
  const isNothing = items.length === 0 && kept.length === 0
  const out = isNothing ? (view.quiet ? '' : 'Nothing to erase') : parts.filter((part) => part !== '').join('\n')
  return {
    out,
    ...(space.warning !== null && { warning: space.warning }),
    ...(!applied && items.length > 0 && { note: `Do it with: aw gc${flagsOf(view)}` }),
  }
}

const kindNames: Readonly<Record<string, string>> = { leftover: 'unfinished', tree: 'trash' }

type Item = Outputs['gc']['items'][number]

const nameOf = ({ workspace, shared, tree }: Pick<Item, 'workspace' | 'shared' | 'tree'>): string =>
  workspace ?? (shared === null ? tree : `shared area ${shared}`)

const whyOf = ({ error, reason, archive }: Item): string =>
  error ?? `${reason}${archive === null ? '' : `; packed into ${archive}`}`

/** On a terminal the reason has lines of its own where it would be cut off. */
function table({ items }: Outputs['gc'], view: View): string {
  if (items.length === 0) return ''
  const rows = items.map((item): Row => [
    nameOf(item),
    kindNames[item.kind] ?? item.kind,
    { text: bytes(item.bytes), right: true },
    { text: whyOf(item), paint: item.error === null ? view.paint.dim : view.paint.red },
  ])
  const head: Row = ['WHAT', 'KIND', { text: 'SIZE', right: true }, 'WHY']
  const wide = columns(head, rows, { ...view, columns: Infinity })
  if (!view.terminal || wide.split('\n').every((line) => stripVTControlCharacters(line).length <= view.columns))
    return wide
  const [first = '', ...lines] = columns(
    head.slice(0, 3),
    rows.map((row) => row.slice(0, 3)),
    view,
  ).split('\n')
  const reasons = items.map((item) => {
    const paint = item.error === null ? view.paint.dim : view.paint.red
    return wrap(visible(whyOf(item)), view.columns - 4).map((line) => `    ${paint(line)}`)
  })
  return [first, ...lines.flatMap((line, i) => [line, ...(reasons[i] ?? [])])].join('\n')
}

const keptLines = ({ kept }: Outputs['gc'], { paint }: View): string =>
  kept.map((one) => `${paint.yellow('!')} ${nameOf(one)} stays: ${visible(one.reason)}`).join('\n')

function sumOf({ applied, items, bytes: freed, later_bytes: later }: Outputs['gc']): string {
  const of = (action: string): number => items.filter((item) => item.error === null && item.action === action).length
  const [erased, moved, failed] = [of('erase'), of('trash'), items.filter((item) => item.error !== null).length]
  const said = [
    `${applied ? 'Erased' : 'Would erase'} ${count(erased, 'thing')}, ${bytes(freed)}`,
    ...(moved === 0
      ? []
      : [`${applied ? 'moved' : 'would move'} ${count(moved, 'workspace')} to the trash, ${bytes(later)}`]),
    ...(failed === 0 ? [] : [`${failed} could not go`]),
  ]
  return said.join('; ')
}

/** What was shown is what is to be done. */
const flagsOf = ({ input }: View): string =>
  Object.entries(input)
    .filter(([field, value]) => field !== 'plan' && value !== undefined)
    .map(([field, value]) => (value === true ? ` --${kebab(field)}` : ` --${kebab(field)} ${String(value)}`))
    .join('')

export function recover(output: Outputs['recover'], { paint }: View): Rendered {
  const { made } = output
  const lines = [
    ...(made === undefined
      ? []
      : [
          `${paint.green('✓')} ${made.workspace_id}: a workspace now${made.path === null ? '' : `, at ${visible(made.path)}`}`,
        ]),
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
    ...(output.orphans.length > 0 ? ['Make a workspace of a tree with: aw recover TREE --as TASK/AGENT'] : []),
    ...(output.lost.length > 0 ? ['Make one that has snapshots anew from its last: aw undelete NAME'] : []),
  ]
  return { out: lines.join('\n'), ...(notes.length > 0 && { note: notes.join('; ') }) }
}

export function shutdown({ policy, results, timed_out }: Outputs['shutdown'], { paint }: View): Rendered {
  const lines = results.map((item) => {
    if (item.ok) return `${paint.green('✓')} ${item.name}`
    const hint = item.error?.hint ?? null
    return `${paint.red('✗')} ${item.name}: ${visible(item.error?.message ?? 'failed')}${hint === null ? '' : ` (${visible(hint)})`}`
  })
  const end = timed_out ? '; the time ran out before all were done' : ''
  return { out: [...lines, `Policy ${policy}: ${count(results.length, 'workspace')}${end}`].join('\n') }
}
