import { operations } from '../api/table.ts'
import type { Scope } from '../domain/tokens/scopes.ts'
import type { AnyEntry, Tool } from './tool.ts'
import { toolOf } from './tool.ts'
import { commandTools } from './tools/commands.ts'
import { fileTools } from './tools/files.ts'
import { runTools } from './tools/runs.ts'
import { snapshotTools } from './tools/snapshots.ts'
import { workspaceTools } from './tools/workspaces.ts'

/** Whether a caller has a scope. */
export type HasScope = (scope: Scope) => boolean

const entries: readonly AnyEntry[] = [...workspaceTools, ...commandTools, ...fileTools, ...snapshotTools, ...runTools]

/** All of them; or those for one workspace, without an id. Those that the caller may never use are not offered. */
export const toolsFor = (workspace?: string, may: HasScope = () => true): readonly Tool[] =>
  entries
    .filter(({ of }) => may(operations.find(({ name }) => name === of)?.scope ?? 'admin'))
    .filter(({ where }) => where === undefined || where === (workspace === undefined ? 'home' : 'one'))
    .map((given) => toolOf(given, workspace))
