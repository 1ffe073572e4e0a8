import type { Outputs } from '../../../api/table.ts'
import { columns, type Row } from '../columns.ts'
import { sizeOf, sourceOf, stateCell } from './workspace.ts'
import { age, timeLeft } from '../units.ts'
import type { Rendered, View } from '../view.ts'

export function list(workspaces: Outputs['list'], view: View): Rendered {
  if (workspaces.length === 0) return { out: '', note: nothing(view) }
  if (view.quiet) return { out: workspaces.map((workspace) => workspace.workspace_id).join('\n') }
  // Most have no end; but what reads a pipe counts columns.
  const ends = !view.terminal || workspaces.some(({ expires_at }) => expires_at !== null)
  const left = (text: string): Row => (ends ? [{ text, right: true }] : [])
  const head: Row = [
    'NAME',
    'STATE',
    { text: 'SIZE', right: true },
    { text: 'AGE', right: true, spare: 1 },
    ...left('LEFT'),
    'SOURCE',
    ...(isTwice(workspaces) ? ['ID'] : []),
  ]
  const rows = workspaces.map((workspace): Row => [
    { text: workspace.workspace_id, paint: view.paint.bold },
    stateCell(workspace, view),
    { text: sizeOf(workspace), right: true },
    { text: age(workspace.created_at, view.now), right: true },
    ...left(workspace.expires_at === null ? '-' : timeLeft(workspace.expires_at, view.now)),
    { text: sourceOf(workspace.source), paint: view.paint.dim },
    ...(isTwice(workspaces) ? [workspace.id] : []),
  ])
  return { out: columns(head, rows, view) }
}

/** In the trash a name tells not always which. */
const isTwice = (workspaces: Outputs['list']): boolean =>
  new Set(workspaces.map(({ workspace_id: name }) => name)).size < workspaces.length

function nothing({ input }: View): string {
  if (input['trashed'] === true) return 'The trash is empty'
  const filters = Object.keys(input).filter((key) => !['sizes', 'limit', 'all'].includes(key))
  if (filters.length > 0) return 'No workspace fits. See all with: aw list --all'
  return 'No workspaces yet. Make one with: aw create fix-login --from .'
}
