import { pairsOf } from './columns.ts'
import { visible } from '../../domain/text/visible.ts'
import type { Rendered, View } from './view.ts'

/** Any answer, field by field: what an operation looks like before somebody gives it a better form. */
export function generic(output: unknown, view: View): Rendered {
  if (Array.isArray(output)) return { out: output.map((item) => short(item)).join('\n') }
  if (typeof output !== 'object' || output === null) return { out: short(output) }
  return {
    out: pairsOf(
      Object.entries(output).map(([key, value]) => [key, short(value)] as const),
      view,
    ),
  }
}

const short = (value: unknown): string => {
  if (value === undefined || value === null) return '-'
  return visible(typeof value === 'string' ? value : JSON.stringify(value))
}
