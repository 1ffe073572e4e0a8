import type { Outputs } from '../../../api/table.ts'
import type { Cell } from '../columns.ts'
import { bytes } from '../units.ts'
import type { View } from '../view.ts'

type Workspace = Outputs['show']

/** What is in progress or wrong matters more than the state itself. */
export function stateCell({ state, operation, problem, commands }: Workspace, { paint }: View): Cell {
  if (operation !== null) return { text: `${state} (${operation.kind})`, paint: paint.yellow }
  if (problem !== null || state === 'failed') return { text: `${state} !`, paint: paint.red }
  if (commands > 0) return { text: `${state} (exec)`, paint: paint.cyan }
  const painters: Readonly<Record<string, Cell['paint']>> = { ready: paint.green, running: paint.cyan }
  return { text: state, paint: painters[state] ?? paint.dim }
}

/** `namespace, network allowlist (npm), at /workspace` */
export function wallsOf({ isolation, network, allow, mount, agent }: NonNullable<Workspace['sandbox']>): string {
  const hosts = allow.length === 0 ? '' : ` (${allow.join(', ')})`
  const whose = agent ? [`for ${agent}`] : []
  return [
    isolation,
    ...whose,
    `network ${network}${hosts}`,
    ...(isolation === 'namespace' ? [`at ${mount}`] : []),
  ].join(', ')
}

export function sizeOf({ size_bytes, size_complete }: Workspace): string {
  if (size_bytes === undefined || size_bytes === null) return '-'
  return size_complete === false ? `> ${bytes(size_bytes)}` : bytes(size_bytes)
}

export function sourceOf(source: Readonly<Record<string, unknown>>): string {
  const { kind, ...rest } = source
  if (kind === 'workspace') return `fork of ${String(rest['name'])}`
  if (kind === 'git') return gitOf(rest)
  const detail = Object.values(rest).find((value): value is string => typeof value === 'string')
  return detail === undefined ? String(kind) : `${String(kind)} ${detail}`
}

/** Where it is from, what was asked for, and what that was then. */
function gitOf({ url, ref, branch, commit }: Readonly<Record<string, unknown>>): string {
  const texts = [ref, branch].filter((one): one is string => typeof one === 'string' && one !== commit)
  const at = typeof commit === 'string' ? [commit.slice(0, 10)] : []
  return ['git', String(url), ...texts.slice(0, 1), ...at].join(' ')
}
