import { agentOperations } from './operations/agents.ts'
import { maintenanceOperations } from './operations/maintenance.ts'
import { fileStreamOperations } from './operations/file-streams.ts'
import { fileOperations } from './operations/files.ts'
import { leaseOperations } from './operations/leases.ts'
import { spaceOperations } from './operations/space.ts'
import { sourceOperations } from './operations/sources.ts'
import { runOperations } from './operations/runs.ts'
import { sandboxOperations } from './operations/sandboxes.ts'
import { snapshotOperations } from './operations/snapshots.ts'
import { treeOperations } from './operations/trees.ts'
import { tokenOperations } from './operations/tokens.ts'
import { workspaceOperations } from './operations/workspaces.ts'
import type { InputOf, Operation, OutputOf } from './operation.ts'

/** Everything `aw` can do. To add an operation: an entry here, a use case in `manager/`, their tests. */
export const operations = [
  ...workspaceOperations,
  ...leaseOperations,
  ...runOperations,
  ...agentOperations,
  ...sandboxOperations,
  ...snapshotOperations,
  ...treeOperations,
  ...sourceOperations,
  ...fileOperations,
  ...fileStreamOperations,
  ...maintenanceOperations,
  ...tokenOperations,
  ...spaceOperations,
] as const

type Entry = (typeof operations)[number]
export type OperationName = Entry['name']
export type Inputs = { [N in OperationName]: InputOf<Extract<Entry, { name: N }>> }
export type Outputs = { [N in OperationName]: OutputOf<Extract<Entry, { name: N }>> }
export type StreamName = Extract<Entry, { form: 'stream' }>['name']
/** Streams that come to an end by themselves. */
export type EndingName = Extract<Entry, { form: 'stream'; ends: true }>['name']

export type Table = readonly Operation[]
