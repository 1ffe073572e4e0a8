import type { Outputs } from '../../../api/table.ts'
import { configKeys, type ConfigKey } from '../../../domain/config/config.ts'
import { columns, pairsOf, type Row } from '../columns.ts'
import type { Rendered, View } from '../view.ts'

export function config({ home, file, settings }: Outputs['config show'], view: View): Rendered {
  const place = pairsOf(
    [
      ['home', home],
      ['file', file ?? 'none'],
    ],
    view,
  )
  const rows = settings.map(({ key, value, from, about }): Row => [
    { text: key, paint: view.paint.bold },
    shown(key, value),
    { text: from, paint: from === 'default' ? view.paint.dim : view.paint.cyan },
    { text: about, paint: view.paint.dim },
  ])
  const table = columns(['SETTING', 'VALUE', 'FROM', 'ABOUT'], rows, view)
  return { out: `${place}\n${view.terminal ? '\n' : ''}${table}` }
}

function shown(key: string, value: unknown): string {
  if (typeof value === 'number' && String(kindOf(key)).endsWith('mode')) return value.toString(8).padStart(4, '0')
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}

const kindOf = (key: string): unknown =>
  Object.hasOwn(configKeys, key) ? configKeys[key as ConfigKey].kind : undefined
