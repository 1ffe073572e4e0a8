import type { Outputs } from '../../api/table.ts'
import { columns, pairsOf, type Row } from './columns.ts'
import type { Shown, View } from './view.ts'

export function config({ home, file, settings }: Outputs['config show'], view: View): Shown {
  const place = pairsOf(
    [
      ['home', home],
      ['file', file ?? 'none'],
    ],
    view,
  )
  const rows = settings.map(({ key, value, from, about }): Row => [
    { text: key, paint: view.paint.bold },
    shown(value),
    { text: from, paint: from === 'default' ? view.paint.dim : view.paint.cyan },
    { text: about, paint: view.paint.dim },
  ])
  const table = columns(['SETTING', 'VALUE', 'FROM', 'ABOUT'], rows, view)
  return { out: `${place}\n${view.terminal ? '\n' : ''}${table}` }
}

const shown = (value: unknown): string =>
  value === '' ? '""' : typeof value === 'string' ? value : JSON.stringify(value)
