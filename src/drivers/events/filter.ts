import type { LogRecord } from '../../domain/log/chain.ts'
import type { EventMeta, EventType } from '../../domain/log/event.ts'
import { baseNameOf, baseOf, type Workspace } from '../../domain/workspace/state.ts'
import type { FollowOptions, WorkspaceFilter } from '../../ports/event-store.ts'

/** What the filters of the port mean. The SQL of a store says the same; the contract suite holds them together. */

/** An instant in the one spelling that sorts as text. */
export const instant = (text: string): string => new Date(text).toISOString()

export function matchesWorkspace(workspace: Workspace, filter: WorkspaceFilter): boolean {
  const { task, agent, states, labels, createdBefore, createdAfter, inOperation, forkOf, base, after } = filter
  const { baseName, withTrash } = filter
  const { source } = workspace
  return (
    (task === undefined || workspace.task === task) &&
    (agent === undefined || workspace.agent === agent) &&
    (states === undefined || states.includes(workspace.state)) &&
    Object.entries(labels ?? {}).every(([key, value]) => workspace.labels[key] === value) &&
    (createdBefore === undefined || workspace.created_at < instant(createdBefore)) &&
    (createdAfter === undefined || workspace.created_at > instant(createdAfter)) &&
    (inOperation === undefined || (workspace.operation !== null) === inOperation) &&
    (forkOf === undefined || (source.kind === 'workspace' && source.workspace === forkOf)) &&
    (base === undefined || baseOf(workspace) === base) &&
    (baseName === undefined || baseNameOf(workspace) === baseName) &&
    (withTrash === undefined || workspace.trash.length > 0 === withTrash) &&
    (after === undefined || workspace.id > after)
  )
}

export function matchesRecord(record: LogRecord, options: FollowOptions): boolean {
  const { task, agent, stream, types, correlation } = options
  return (
    (task === undefined || record.task === task) &&
    (agent === undefined || record.agent === agent) &&
    (stream === undefined || record.stream === stream) &&
    (types === undefined || types.includes(record.type as EventType)) &&
    (correlation === undefined || correlationOf(record) === correlation)
  )
}

const correlationOf = ({ meta }: LogRecord): unknown => (JSON.parse(meta) as Partial<EventMeta>).correlation_id
