import type { Outputs } from '../../../api/table.ts'
import { columns, type Cell, type Row } from '../columns.ts'
import { snapshotGraph, type GraphLine } from './snapshot-graph.ts'
import { age, bytes } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Snapshot = Outputs['snapshots'][number]

/** Drawn on a terminal; in a pipe one line a snapshot. */
export function snapshots(all: Outputs['snapshots'], view: View): Rendered {
  if (all.length === 0) return { out: '', note: `No snapshot of its own yet. Take one with: aw snapshot ${idOf(view)}` }
  if (view.quiet) return { out: all.map(({ id }) => id).join('\n') }
  if (!view.terminal) return { out: all.map((one) => columns([], [plain(one, view)], view)).join('\n') }
  // What a fork began as is the beginning of its own history.
  const lines = snapshotGraph(all.map((one) => (one.base === true ? { ...one, parent: null } : one)))
  return { out: view.columns < narrow ? inTwo(lines, view) : table(lines, view) }
}

/** Below this width a snapshot takes two lines: its id alone is half of one. */
const narrow = 90

const idOf = ({ input }: View): string => (typeof input['id'] === 'string' ? input['id'] : 'ID')

/** id, parent, time, reason, paths changed, marks, label; then sizes, if asked for. */
function plain(one: Snapshot, view: View): Row {
  const sizes = view.input['sizes'] === true ? [size(one.size_bytes, view), size(one.own_bytes, view)] : []
  const marks = marksOf(one)
  return [
    one.id,
    one.parent ?? '-',
    one.created_at,
    one.reason,
    changedText(one),
    marks === '' ? '-' : marks,
    one.label ?? '',
    ...sizes,
  ]
}

function table(lines: readonly GraphLine<Snapshot>[], view: View): string {
  const sizes = view.input['sizes'] === true
  const numbers: Row = [right('AGE'), right('CHANGED'), ...(sizes ? [right('SIZE'), right('OWN')] : [])]
  const rows = lines.map(({ graph, at }): Row => {
    const first = drawn(graph, at, view)
    if (typeof at !== 'object' || at === null) return [first, ...numbers.map(() => ''), notListed(at, view)]
    const measured = sizes ? [right(size(at.size_bytes, view)), right(size(at.own_bytes, view))] : []
    return [first, right(age(at.created_at, view.now)), right(changedText(at)), ...measured, words(at, view)]
  })
  return columns(['SNAPSHOT', ...numbers, ''], rows, view)
}

/** The id and the numbers; below them what it is called, if anything is to be said. */
const inTwo = (lines: readonly GraphLine<Snapshot>[], view: View): string =>
  lines
    .flatMap(({ graph, below, at }): Row[] => {
      const first = drawn(graph, at, view)
      if (typeof at !== 'object' || at === null) return [[first], [drawn(below, '', view, notListed(at, view))]]
      const changed = at.files_changed === null ? '' : `, ${at.files_changed} changed`
      const numbers: Cell = { text: `${age(at.created_at, view.now)}${changed}`, paint: view.paint.dim }
      const said = words(at, view)
      const measured = `${size(at.size_bytes, view)}, ${size(at.own_bytes, view)} of its own`
      return [
        [first, numbers],
        ...(said.text === '' ? [] : [[drawn(below, '', view, said)]]),
        ...(view.input['sizes'] === true ? [[drawn(below, '', view, { text: measured, paint: view.paint.dim })]] : []),
      ]
    })
    .map((row) => columns([], [row], view))
    .join('\n')

/** The drawing and what stands beside it, as one cell. */
function drawn(graph: string, at: Snapshot | string | null, { paint }: View, more?: Cell): Cell {
  const isSnapshot = typeof at === 'object' && at !== null
  // The mark of a snapshot has the colour of its id.
  const lines = isSnapshot ? graph.length - 2 : graph.length
  const text = isSnapshot ? at.id : (at ?? '')
  const color = isSnapshot ? (at.head ? paint.green : at.reason === 'safety' ? paint.dim : paint.yellow) : paint.dim
  return {
    text: `${graph}${more?.text ?? text}`,
    paint: (whole) => paint.dim(whole.slice(0, lines)) + (more?.paint ?? color)(whole.slice(lines)),
  }
}

const notListed = (at: string | null, { paint, input }: View): Cell => ({
  text: at === null ? 'the beginning' : input['limit'] === undefined ? 'what it was forked from' : 'older, not shown',
  paint: paint.dim,
})

/** `(head, main) tests pass` */
function words(one: Snapshot, { paint }: View): Cell {
  const marks = marksOf(one)
  const shown = marks === '' ? '' : `(${marks})`
  const fuzzy = one.consistency === 'fuzzy' ? 'fuzzy' : ''
  const origin = one.base === true ? `of ${one.workspace}` : reasons[one.reason]
  const about = [one.label ?? '', origin, fuzzy].filter((text) => text !== '').join(', ')
  return {
    text: [shown, about].filter((text) => text !== '').join(' '),
    paint: (text) => {
      const rest = text.slice(shown.length)
      return paint.cyan(text.slice(0, shown.length)) + (one.label === null ? paint.dim(rest) : rest)
    },
  }
}

const reasons = { user: '', auto: 'automatic', safety: 'kept before a restore', fork: 'made for a fork' } as const

const marksOf = ({ head, base, tips }: Snapshot): string =>
  [...(head ? ['head'] : []), ...(base === true ? ['base'] : []), ...tips].join(', ')

const changedText = ({ files_changed: changed }: Snapshot): string => (changed === null ? '-' : String(changed))

const size = (amount: number | null | undefined, { terminal }: View): string => {
  if (amount === undefined || amount === null) return '-'
  return terminal ? bytes(amount) : String(amount)
}

const right = (text: string): Cell => ({ text, right: true })
