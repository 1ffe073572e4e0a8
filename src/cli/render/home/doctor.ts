import type { Outputs } from '../../../api/table.ts'
import { wrap } from '../../output/layout.ts'
import { visible } from '../../../domain/text/visible.ts'
import { count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

export function doctor({ findings }: Outputs['doctor'], { paint, columns }: View): Rendered {
  const marks = { ok: paint.green('✓'), info: paint.blue('i'), warning: paint.yellow('!'), problem: paint.red('✗') }
  const width = Math.max(0, ...findings.map((finding) => finding.name.length))
  const lines = findings.flatMap(({ name, status, message, hint }) => {
    const [first = '', ...rest] = wrap(visible(message), columns - width - 4)
    const more = [...rest, ...(hint === null ? [] : wrap(visible(hint), columns - width - 4).map(paint.dim))]
    const head = `${marks[status]} ${paint.bold(visible(name).padEnd(width))}  ${first}`
    return [head, ...more.map((line) => `${' '.repeat(width + 4)}${line}`)]
  })
  return { out: [...lines, '', verdict(findings, paint)].join('\n') }
}

function verdict(findings: Outputs['doctor']['findings'], paint: View['paint']): string {
  const having = (wanted: string): number => findings.filter(({ status }) => status === wanted).length
  const [problems, warnings] = [having('problem'), having('warning')]
  if (problems + warnings === 0) return paint.green('All is well')
  const also = warnings === 0 ? '' : `, ${count(warnings, 'warning')}`
  return problems === 0 ? paint.yellow(`No problems${also}`) : paint.red(`${count(problems, 'problem')}${also}`)
}
