import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import { pairsOf } from '../columns.ts'
import { age, timeLeft } from '../units.ts'
import { sizeOf, sourceOf, stateCell, wallsOf } from './workspace.ts'
import type { Rendered, View } from '../view.ts'

export function show(workspace: Outputs['show'], view: View): Rendered {
  const {
    operation,
    problem,
    sandbox,
    commands,
    trash,
    labels,
    config,
    base,
    forked_from: origin,
    forks = [],
    size_limit: limit,
  } = workspace
  const entries: [string, string][] = [
    ['name', workspace.workspace_id],
    ['id', workspace.id],
    ['state', stateCell(workspace, view).text],
    ['path', workspace.path ?? 'none on this machine: only its sandbox sees it'],
    ['size', sizeOf(workspace)],
    ['source', sourceOf(workspace.source)],
    ['profile', workspace.profile],
    ['storage', workspace.driver],
    ['generation', String(workspace.generation)],
    ['snapshots', String(workspace.snapshots)],
    ['snapshot branch', workspace.branch],
    ['head', workspace.head ?? '-'],
    ['created', moment(workspace.created_at, view)],
    ['updated', moment(workspace.updated_at, view)],
  ]
  if (Array.isArray(workspace.source['left_out']))
    entries.push(['began without', visible(workspace.source['left_out'].join(', '))])
  if (sandbox !== null) {
    entries.push(['sandbox', `${wallsOf(sandbox)}, ${moment(sandbox.started_at, view)}`])
    const kept = Object.entries(sandbox.grades ?? {}).map(([limit, by]) => `${limit}: ${by}`)
    if (kept.length > 0) entries.push(['limits kept by', kept.join(', ')])
    for (const note of sandbox.notes ?? []) entries.push(['not as asked', visible(note)])
  }
  if (workspace.lease) entries.push(['leased by', leaseText(workspace.lease, view)])
  if (commands > 0) entries.push(['commands', `${commands} running`])
  if (workspace.expires_at !== null) entries.push(['expires', end(workspace.expires_at, view)])
  for (const { path, at, digest } of workspace.archives) {
    entries.push(['archive', `${path}, ${moment(at, view)}`], ['archive digest', digest])
  }
  if (limit !== undefined) entries.push(['size limit', limitText(limit)])
  if (base !== null) entries.push(['base', base])
  if (origin) entries.push(['forked from', `${origin.name}, ${moment(origin.at, view)}`])
  for (const fork of forks) entries.push(['fork', `${fork.name} at ${fork.snapshot}`])
  for (const [key, value] of Object.entries(labels)) entries.push(['label', `${key}=${value}`])
  for (const [key, value] of Object.entries(config)) entries.push([`config.${key}`, plain(value)])
  if (operation !== null) entries.push(['in progress', `${operation.kind} since ${moment(operation.started_at, view)}`])
  if (problem !== null) entries.push(['problem', `${problem.message} (${problem.code})`])
  for (const item of trash) entries.push(['in the trash', `${item.tree}, ${item.reason}, ${moment(item.at, view)}`])
  return { out: pairsOf(entries, view) }
}

export function paths(output: Outputs['paths'], view: View): Rendered {
  const { directories, public_directories: inside, ...rest } = output
  const named = (prefix: string, map: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(map).map(([name, path]) => [`${prefix}${name}`, path ?? '-'])
  const entries = [...named('', rest), ...named('', directories), ...named('public ', inside)]
  return { out: pairsOf(entries, view) }
}

function leaseText({ holder, expires_at, active_at }: NonNullable<Outputs['show']['lease']>, view: View): string {
  // After a restart nobody has been heard of yet.
  const heard = Date.parse(active_at) === 0 ? 'not heard of since' : `last active ${moment(active_at, view)}`
  return `${holder}, until ${end(expires_at, view)}, ${heard}`
}

const limitText = ({ mb, grade }: NonNullable<Outputs['show']['size_limit']>): string =>
  mb === 0 ? 'none' : `${mb} MB beyond what it began as (${grade})`

const moment = (at: string, view: View): string => (view.terminal ? `${at} (${age(at, view.now)})` : at)
const end = (at: string, view: View): string => (view.terminal ? `${at} (${timeLeft(at, view.now)})` : at)
const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
