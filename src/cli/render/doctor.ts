import type { Outputs } from '../../api/table.ts'
import { wrap } from '../layout.ts'
import { visible } from '../text.ts'
import type { Shown, View } from './view.ts'

export function doctor({ ok, findings }: Outputs['doctor'], { paint, columns }: View): Shown {
  const marks = { ok: paint.green('✓'), info: paint.blue('i'), warning: paint.yellow('!'), problem: paint.red('✗') }
  const width = Math.max(0, ...findings.map((finding) => finding.name.length))
  const lines = findings.flatMap(({ name, status, message, hint }) => {
    const [first = '', ...rest] = wrap(visible(message), columns - width - 4)
    const more = [...rest, ...(hint === null ? [] : wrap(visible(hint), columns - width - 4).map(paint.dim))]
    const head = `${marks[status]} ${paint.bold(visible(name).padEnd(width))}  ${first}`
    return [head, ...more.map((line) => `${' '.repeat(width + 4)}${line}`)]
  })
  const problems = findings.filter((finding) => finding.status === 'problem').length
  const verdict = ok ? paint.green('All is well') : paint.red(`${problems} to put right`)
  return { out: [...lines, '', verdict].join('\n') }
}
