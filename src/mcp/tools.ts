import type { AnyEntry, Tool } from './tool.ts'
import { toolOf } from './tool.ts'
import { commandTools } from './tools/commands.ts'
import { fileTools } from './tools/files.ts'
import { runTools } from './tools/runs.ts'
import { snapshotTools } from './tools/snapshots.ts'
import { workspaceTools } from './tools/workspaces.ts'

const entries: readonly AnyEntry[] = [...workspaceTools, ...commandTools, ...fileTools, ...snapshotTools, ...runTools]

/** All of them; or those for one workspace, without an id. */
export const toolsFor = (workspace?: string): readonly Tool[] =>
  entries
    .filter(({ where }) => where === undefined || where === (workspace === undefined ? 'home' : 'one'))
    .map((given) => toolOf(given, workspace))
