import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import { columns, type Row } from '../columns.ts'
import { runCells, whatOf } from './runs.ts'
import { age, count } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Line = Outputs['status']['workspaces'][number]

export function status({ workspaces, running, trashed }: Outputs['status'], view: View): Rendered {
  if (view.quiet) return { out: workspaces.map(({ workspace }) => workspace).join('\n') }
  const right = (text: string) => ({ text, right: true as const })
  const head = [
    'WORKSPACE',
    { text: 'STATE', spare: 4 },
    { text: 'SANDBOX', spare: 2 },
    { ...right('#'), spare: 3 },
    'RUN',
    right('SECONDS'),
    { ...right('EXIT'), spare: 5 },
    { ...right('UPDATED'), spare: 1 },
    'WHAT',
  ]
  const rows = workspaces.map((one): Row => [
    { text: one.workspace, paint: view.paint.bold },
    { text: one.operation ?? one.state, ...(one.problem !== null && { paint: view.paint.red }) },
    sandboxOf(one),
    ...(one.run === null
      ? ['-', '-', '-', '-'].map((text) => ({ text, right: true as const }))
      : runCells(one.run, view)),
    right(age(one.updated_at, view.now)),
    lastOf(one),
  ])
  const all = [
    count(workspaces.length, 'workspace'),
    `${running} running`,
    ...(trashed > 0 ? [`${trashed} in the trash`] : []),
  ]
  const table =
    rows.length === 0 ? 'No workspaces yet. Make one with: aw create fix-login --from .' : columns(head, rows, view)
  return { out: view.terminal ? `${table}\n\n${view.paint.dim(all.join(', '))}` : rows.length === 0 ? '' : table }
}

const sandboxOf = ({ isolation, commands }: Line): string =>
  [isolation ?? '-', ...(commands > 0 ? [`(${count(commands, 'command')})`] : [])].join(' ')

const lastOf = ({ problem, run }: Line): string => {
  const trouble = problem ?? run?.problem ?? null
  if (trouble !== null) return visible(trouble.message)
  return run === null ? '' : visible(whatOf(run))
}
