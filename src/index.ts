import { openManager, type OpenOptions } from './aw.ts'
import { makeAw, type Aw } from './client/facade.ts'

/**
 * Agent workspaces as a library.
 *
 * ```ts
 * import { openAw } from 'agent-workspaces'
 *
 * await using aw = await openAw()
 * const workspace = await aw.create({ id: 'fix-login/claude', from: { folder: '/path/to/project' } })
 * await workspace.files.write('work/notes.md', 'hello')
 * await workspace.destroy() // to the trash; aw.undelete('fix-login/claude') brings it back
 * ```
 */
export async function openAw(options: OpenOptions = {}): Promise<Aw> {
  return makeAw(await openManager(options))
}

export { AwError, errorTable, type ErrorCode } from './domain/errors.ts'
export type { OpenOptions } from './aw.ts'
export type { Aw, ItemResult } from './client/facade.ts'
export type { Workspace, WorkspaceFiles } from './client/workspace.ts'
export type { CallContext, Manager, Progress } from './ports/manager.ts'
export type { Inputs, OperationName, Outputs } from './api/table.ts'
