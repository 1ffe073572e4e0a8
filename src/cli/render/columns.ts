import { wrap } from '../layout.ts'
import { visible } from '../text.ts'
import type { View } from './view.ts'

export interface Cell {
  readonly text: string
  readonly paint?: (text: string) => string
  readonly right?: true
}

export type Row = readonly (string | Cell)[]

/** A pipe gets one line a row, tabs between; a terminal gets a head, aligned columns and no line that wraps. */
export function columns(head: Row, rows: readonly Row[], view: View): string {
  if (!view.terminal) return rows.map((row) => row.map(plain).join('\t')).join('\n')
  const all = head.length === 0 ? rows : [head, ...rows]
  const widths = (all[0] ?? []).map((_, i) => Math.max(...all.map((row) => cellOf(row[i] ?? '').text.length)))
  return all.map((row, i) => line(row, widths, view, head.length > 0 && i === 0)).join('\n')
}

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
