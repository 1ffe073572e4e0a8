import { wrap } from '../output/layout.ts'
import { visible } from '../../domain/text/visible.ts'
import type { View } from './view.ts'

export interface Cell {
  readonly text: string
  readonly paint?: (text: string) => string
  readonly right?: true
  /** In a head: the column is left out of a terminal that is too narrow, the lowest number first. */
  readonly spare?: number
}

export type Row = readonly (string | Cell)[]

/** A pipe gets one line a row, tabs between; a terminal gets a head, aligned columns and no line that wraps. */
export function columns(head: Row, rows: readonly Row[], view: View): string {
  if (!view.terminal) return rows.map((row) => row.map(plain).join('\t')).join('\n')
  const wide = head.length === 0 ? rows : [head, ...rows]
  const kept = columnsThatFit(head, widthsOf(wide), view.columns)
  const all = wide.map((row) => row.filter((_, i) => kept.includes(i)))
  const widths = widthsOf(all)
  return all.map((row, i) => line(row, widths, view, head.length > 0 && i === 0)).join('\n')
}

const widthsOf = (all: readonly Row[]): number[] =>
  (all[0] ?? []).map((_, i) => Math.max(...all.map((row) => cellOf(row[i] ?? '').text.length)))

/** So that something of the last column can be read. */
const minOfLast = 16

function columnsThatFit(head: Row, widths: readonly number[], room: number): number[] {
  let kept = widths.map((_, i) => i)
  const spare = kept.filter((i) => spareOf(head[i]) > 0).toSorted((a, b) => spareOf(head[a]) - spareOf(head[b]))
  const needed = (): number =>
    kept.reduce(
      (sum, i) => sum + (i === widths.length - 1 ? Math.min(widths[i] ?? 0, minOfLast) : (widths[i] ?? 0) + 2),
      0,
    )
  for (const i of spare) if (needed() > room) kept = kept.filter((other) => other !== i)
  return kept
}

const spareOf = (cell: Row[number] | undefined): number => (cell === undefined ? 0 : (cellOf(cell).spare ?? 0))

function line(row: Row, widths: readonly number[], view: View, isHead: boolean): string {
  let room = view.columns
  const parts = row.map((cell, i) => {
    const { text, paint, right } = cellOf(cell)
    const last = i === row.length - 1
    const short = last && text.length > room ? `${text.slice(0, Math.max(1, room - 1))}…` : text
    const padding = ' '.repeat(Math.max(0, (widths[i] ?? 0) - short.length))
    room -= (widths[i] ?? 0) + 2
    const painted = isHead ? view.paint.dim(short) : (paint?.(short) ?? short)
    if (right === true) return padding + painted
    return last ? painted : painted + padding
  })
  return parts.join('  ').trimEnd()
}

/** Painters do nothing in a pipe, unless colours are forced. */
function plain(cell: string | Cell): string {
  const { text, paint } = cellOf(cell)
  return paint?.(text) ?? text
}

function cellOf(cell: string | Cell): Cell {
  const { text, ...rest } = typeof cell === 'string' ? { text: cell } : cell
  return { ...rest, text: visible(text) }
}

/** Lines of `key  value`, aligned on a terminal, and wrapped between words. */
export function pairsOf(entries: readonly (readonly [string, string])[], view: View): string {
  const widest = Math.max(0, ...entries.map(([key]) => visible(key).length))
  const rows = entries.flatMap(([key, value]): Row[] => {
    const [first = '', ...more] = view.terminal ? wrap(visible(value), view.columns - widest - 2) : [value]
    return [[{ text: key, paint: view.paint.dim }, first], ...more.map((line): Row => ['', line])]
  })
  return columns([], rows, view.terminal ? { ...view, columns: Infinity } : view)
}
