import type { Inputs, Outputs } from '../api/table.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { filesOf, type WorkspaceFiles } from './workspace-files.ts'
import { historyOf, type WorkspaceHistory } from './workspace-history.ts'
import { sandboxOf, type WorkspaceSandbox } from './workspace-sandbox.ts'

export type WorkspaceView = Outputs['show']

/** A workspace in the caller's hand: what it was when it was read, and what can be done with it. */
export interface Workspace extends WorkspaceView, WorkspaceHistory, WorkspaceSandbox {
  /** TASK/AGENT */
  readonly name: string
  readonly files: WorkspaceFiles
  /** The same workspace as it is now. */
  refresh(context?: CallContext): Promise<Workspace>
  rename(to: string, input?: Omit<Inputs['rename'], 'id' | 'to'>, context?: CallContext): Promise<Workspace>
  label(input: Omit<Inputs['label'], 'id'>, context?: CallContext): Promise<Workspace>
  reset(input?: Omit<Inputs['reset'], 'id'>, context?: CallContext): Promise<Workspace>
  destroy(input?: Omit<Inputs['destroy'], 'id'>, context?: CallContext): Promise<Outputs['destroy']>
  undelete(input?: Omit<Inputs['undelete'], 'id'>, context?: CallContext): Promise<Workspace>
  events(
    filter?: Omit<Inputs['events'], 'workspace' | 'follow'>,
    context?: CallContext,
  ): AsyncIterable<Outputs['events']>
}

/** Handles go by the id, which stays when the name changes. */
export function workspaceHandle(manager: Manager, view: WorkspaceView): Workspace {
  const { id } = view
  const again = async (next: Promise<WorkspaceView>): Promise<Workspace> => workspaceHandle(manager, await next)
  return {
    ...view,
    name: view.workspace_id,
    files: filesOf(manager, id),
    ...historyOf(manager, id, (next) => workspaceHandle(manager, next)),
    ...sandboxOf(manager, id, (next) => workspaceHandle(manager, next)),
    refresh: (context) => again(manager.call('show', { id }, context)),
    rename: (to, input, context) => again(manager.call('rename', { ...input, id, to }, context)),
    label: (input, context) => again(manager.call('label', { ...input, id }, context)),
    reset: (input, context) => again(manager.call('reset', { ...input, id }, context)),
    destroy: (input, context) => manager.call('destroy', { ...input, id }, context),
    undelete: (input, context) => again(manager.call('undelete', { ...input, id }, context)),
    events: (filter, context) => manager.stream('events', { ...filter, workspace: id }, context),
  }
}
