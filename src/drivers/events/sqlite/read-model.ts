import { AwError } from '../../../domain/errors.ts'
import type { StreamId } from '../../../domain/log/event.ts'
import type { SharedLimit } from '../../../domain/space/limits.ts'
import { isLive, type Workspace } from '../../../domain/workspace/state.ts'
import type { WorkspaceFilter } from '../../../ports/event-store.ts'
import type { Cell, Database } from './database.ts'
import { instant } from '../filter.ts'

/** The table `workspaces`: the fold of each stream, and beside it the columns that questions are asked by. */

const columns = [
  'id',
  'task',
  'agent',
  'state',
  'live',
  'created_at',
  'updated_at',
  'version',
  'in_operation',
  'has_trash',
  'labels',
  'data',
] as const

export type WorkspaceRow = Record<(typeof columns)[number], Cell>

/** In the order of the columns. */
export const workspaceRow = (workspace: Workspace): WorkspaceRow => ({
  id: workspace.id,
  task: workspace.task,
  agent: workspace.agent,
  state: workspace.state,
  live: isLive(workspace.state) ? 1 : 0,
  created_at: workspace.created_at,
  updated_at: workspace.updated_at,
  version: workspace.version,
  in_operation: workspace.operation === null ? 0 : 1,
  has_trash: workspace.trash.length === 0 ? 0 : 1,
  labels: JSON.stringify(workspace.labels),
  data: JSON.stringify(workspace),
})

export const sameRow = (a: WorkspaceRow, b: WorkspaceRow): boolean => columns.every((column) => a[column] === b[column])

const save = `
INSERT INTO workspaces (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
ON CONFLICT (id) DO UPDATE SET ${columns
  .slice(1)
  .map((column) => `${column} = excluded.${column}`)
  .join(', ')}`

export function saveWorkspace(database: Database, workspace: Workspace): void {
  database.run(save, ...Object.values(workspaceRow(workspace)))
}

export const allRows = (database: Database): WorkspaceRow[] =>
  database.all(`SELECT ${columns.join(', ')} FROM workspaces`) as WorkspaceRow[]

/** Of the table `streams`, which has the last record of each. */
export const streamVersion = (database: Database, stream: StreamId): number =>
  Number(database.get('SELECT version FROM streams WHERE stream = ?', stream)?.['version'] ?? 0)

export const countLive = (database: Database): number =>
  Number(database.get('SELECT count(*) AS count FROM workspaces WHERE live = 1')?.['count'])

/** What the live workspaces under a limit may grow to, without one. Reads all that are live: 10,000 take some 30 ms. */
export function reservedUnder(database: Database, { what, of }: SharedLimit, except: string): number {
  const cells = what === 'store' ? [] : [of]
  const row = database.get(`${reservedSql}${membership[what]}`, except, ...cells)
  return Number(row?.['mb'] ?? 0)
}

/** `total`, as `sum` fails beyond what a number holds, and older versions took limits of any size. */
const reservedSql = `
SELECT total(data ->> '$.config.max_size_mb') AS mb FROM workspaces WHERE live = 1 AND id <> ?`

const membership: Readonly<Record<SharedLimit['what'], string>> = {
  store: '',
  repository: ` AND coalesce(data ->> '$.source.url', data ->> '$.source.repository') = ?`,
  label: ` AND EXISTS (SELECT 1 FROM json_each(labels) AS label WHERE label.key || '=' || label.value = ?)`,
}

export function holderOf(database: Database, task: string, agent: string): string | undefined {
  const row = database.get('SELECT id FROM workspaces WHERE task = ? AND agent = ? AND live = 1', task, agent)
  return row && String(row['id'])
}

export function parseFold(data: Cell | undefined): Workspace {
  try {
    return JSON.parse(String(data)) as Workspace
  } catch (cause) {
    throw new AwError('log_damaged', 'The read model cannot be read', { hint: 'Run: aw doctor --rebuild', cause })
  }
}

const fold = (row: { data?: Cell } | undefined): Workspace | undefined => row && parseFold(row.data)

export const getWorkspace = (database: Database, id: string): Workspace | undefined =>
  fold(database.get('SELECT data FROM workspaces WHERE id = ?', id))

export const findWorkspace = (database: Database, task: string, agent: string): Workspace | undefined =>
  fold(database.get('SELECT data FROM workspaces WHERE task = ? AND agent = ? AND live = 1', task, agent))

/** In these words, which are those of the index. */
export const ofRunSql = `
SELECT w.data FROM events e JOIN workspaces w ON w.id = e.stream
WHERE e.type = 'run_requested' AND e.data ->> '$.run' = ?`

export const workspaceOfRun = (database: Database, run: string): Workspace | undefined =>
  fold(database.get(ofRunSql, run))

export function listWorkspaces(database: Database, filter: WorkspaceFilter): Workspace[] {
  const conditions: string[] = []
  const cells: Cell[] = []
  const where = (condition: string, ...values: Cell[]): void => {
    conditions.push(condition)
    cells.push(...values)
  }
  if (filter.task !== undefined) where('task = ?', filter.task)
  if (filter.agent !== undefined) where('agent = ?', filter.agent)
  if (filter.states) where('state IN (SELECT value FROM json_each(?))', JSON.stringify(filter.states))
  for (const [key, value] of Object.entries(filter.labels ?? {})) {
    where('EXISTS (SELECT 1 FROM json_each(labels) AS label WHERE label.key = ? AND label.value = ?)', key, value)
  }
  if (filter.createdBefore !== undefined) where('created_at < ?', instant(filter.createdBefore))
  if (filter.createdAfter !== undefined) where('created_at > ?', instant(filter.createdAfter))
  if (filter.inOperation !== undefined) where(`in_operation = ${filter.inOperation ? 1 : 0}`)
  if (filter.forkOf !== undefined) where("data ->> '$.source.workspace' = ?", filter.forkOf)
  if (filter.base !== undefined) where("data ->> '$.source.snapshot' = ?", filter.base)
  if (filter.baseName !== undefined) where("data ->> '$.source.base' = ?", filter.baseName)
  if (filter.withTrash !== undefined) where(`has_trash = ${filter.withTrash ? 1 : 0}`)
  if (filter.after !== undefined) where('id > ?', filter.after)
  const rows = database.all(
    `SELECT data FROM workspaces WHERE ${['1', ...conditions].join(' AND ')} ORDER BY id LIMIT ?`,
    ...cells,
    filter.limit ?? -1,
  )
  return rows.map((row) => parseFold(row['data']))
}
