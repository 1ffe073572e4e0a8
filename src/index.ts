import { parse } from './api/parse.ts'
import { boolean, json, object, optional, pairs, string, type Schema } from './api/schema.ts'
import { openManager, type OpenOptions } from './aw.ts'
import { makeAw, type Aw } from './client/facade.ts'
import { toAwError } from './domain/errors.ts'

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
  try {
    return makeAw(await openManager(parse(openOptions, options, 'options')))
  } catch (error) {
    throw toAwError(error)
  }
}

const openOptions = object({
  home: optional(string('Where everything is kept')),
  configFile: optional(string('The configuration file')),
  set: optional(pairs('Settings by key')),
  env: optional(json('The environment')),
  cwd: optional(string('What relative paths are relative to')),
  shortLived: optional(boolean('The program does one thing and ends')),
}) as Schema<OpenOptions>

export { AwError, errorTable, type ErrorCode } from './domain/errors.ts'
export { deinitHome, initHome } from './init.ts'
export type { OpenOptions } from './aw.ts'
export type { DeinitOptions, DeinitResult, InitOptions, InitResult } from './init.ts'
export type { Aw } from './client/facade.ts'
export type { Stdin } from './client/command-input.ts'
export type { CommandExit, ExecOptions, Execution, ExecutionOfAll, OutputChunk } from './client/execution.ts'
export type { Forward, ForwardOptions } from './client/forward.ts'
export type { ForkMany, ForkOne, ItemResult } from './client/forks.ts'
export type { Streamed } from './client/streamed.ts'
export type { Terminal, TerminalOptions } from './client/terminal.ts'
export type { WorkspaceFiles } from './client/workspace-files.ts'
export type { SnapshotMaker, WorkspaceHistory } from './client/workspace-history.ts'
export type { WorkspaceEnv, WorkspaceSandbox } from './client/workspace-sandbox.ts'
export type { Workspace } from './client/workspace.ts'
export type { CallContext, Manager, Progress } from './ports/manager.ts'
export type { Inputs, OperationName, Outputs } from './api/table.ts'
