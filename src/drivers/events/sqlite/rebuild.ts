import type { WorkspaceId } from '../../../domain/ids.ts'
import { decode } from '../../../domain/log/upcast.ts'
import { evolve } from '../../../domain/workspace/evolve.ts'
import type { Workspace } from '../../../domain/workspace/state.ts'
import type { Database } from './database.ts'
import { allRows, sameRow, saveWorkspace, workspaceRow } from './read-model.ts'
import { records } from './records.ts'

/**
 * Inside a write transaction: folds every stream and writes what differs. The heads of the streams are left alone, since
 * they are evidence: `verify` compares them.
 */
export function rebuild(database: Database): { workspaces: number; changed: WorkspaceId[] } {
  const truth = foldAll(database)
  const stored = new Map(allRows(database).map((row) => [String(row.id), row]))
  const wrong = [...truth.values()].filter((workspace) => {
    const row = stored.get(workspace.id)
    return row === undefined || !sameRow(row, workspaceRow(workspace))
  })
  const strange = [...stored.keys()].filter((id) => !truth.has(id)) as WorkspaceId[]
  const changed = [...wrong.map(({ id }) => id), ...strange].sort()
  // All leave before the first comes back, or two that swap their names would meet.
  for (const id of changed) database.run('DELETE FROM workspaces WHERE id = ?', id)
  for (const workspace of wrong) saveWorkspace(database, workspace)
  return { workspaces: truth.size, changed }
}

const pageSize = 1000

function foldAll(database: Database): Map<string, Workspace> {
  const folds = new Map<string, Workspace>()
  for (let after = 0; ;) {
    const page = records(database, 'WHERE position > ? ORDER BY position LIMIT ?', after, pageSize)
    for (const record of page) {
      const workspace = record.stream === 'home' ? undefined : evolve(folds.get(record.stream), decode(record))
      if (workspace) folds.set(record.stream, workspace)
    }
    after = page.at(-1)?.position ?? after
    if (page.length < pageSize) return folds
  }
}
