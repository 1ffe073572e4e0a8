import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import type { Rendered, View } from '../view.ts'

/** One line: when, what, which workspace, by whom, and what else the payload says in short. */
export function event(item: Outputs['events'], view: View): Rendered {
  const { paint, terminal } = view
  const name = nameOf(item)
  const details = detailsOf(item.data)
  const actor = typeof item.meta['actor'] === 'string' ? item.meta['actor'] : ''
  if (!terminal) return { out: [item.at, item.type, name, actor, details].map(visible).join('\t') }
  const type = visible(item.type).padEnd(26)
  const time = item.at.slice(0, 19).replace('T', ' ')
  const shownName = visible(name).padEnd(20)
  const room = Math.max(0, view.columns - time.length - type.length - shownName.length - 6)
  const started = item.type.endsWith('_started')
  const parts = [
    paint.dim(time),
    started ? paint.dim(type) : (painters[item.type]?.(view)(type) ?? paint.bold(type)),
    shownName,
    paint.dim(cut(visible(details), room)),
  ]
  return { out: parts.join('  ').trimEnd() }
}

const painters: Readonly<Record<string, (view: View) => (text: string) => string>> = {
  workspace_created: ({ paint }) => paint.green,
  workspace_undeleted: ({ paint }) => paint.green,
  workspace_restored: ({ paint }) => paint.yellow,
  snapshot_created: ({ paint }) => paint.cyan,
  snapshot_removed: ({ paint }) => paint.red,
  workspace_cleanup: ({ paint }) => paint.yellow,
  workspace_purged: ({ paint }) => paint.red,
  workspace_lost: ({ paint }) => paint.red,
  operation_abandoned: ({ paint }) => paint.red,
}

function nameOf({ data, stream }: Outputs['events']): string {
  const { task_id: task, agent_id: agent } = data
  return typeof task === 'string' && typeof agent === 'string' ? `${task}/${agent}` : stream
}

/** Who it was about is in the name already; of a list its length is told, and other nested values are for --json. */
function detailsOf(data: Readonly<Record<string, unknown>>): string {
  const known = new Set(['task_id', 'agent_id', 'workspace_path', 'operation', 'created_at'])
  return (
    Object.entries(data)
      .map(([key, value]): [string, unknown] => [key, Array.isArray(value) ? value.length : value])
      .filter(([key, value]) => !known.has(key) && ['string', 'number', 'boolean'].includes(typeof value))
      .map(([key, value]) => `${key}=${String(value)}`)
      // Ids are long and say little: what else there is must not be cut off for them.
      .toSorted((a, b) => Number(a.includes('=snap_')) - Number(b.includes('=snap_')))
      .join(' ')
  )
}

const cut = (text: string, room: number): string =>
  text.length > room ? `${text.slice(0, Math.max(0, room - 1))}…` : text
