import { toAwError } from '../../domain/errors.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { assertUnused } from '../kernel/activity.ts'
import type { Core } from '../core.ts'
import { type GcCandidate, isKept } from './gc-candidates.ts'

/** Why a thing stays though its time is over; undefined if nothing speaks for it. */
export async function holdReason(core: Core, candidate: GcCandidate): Promise<string | undefined> {
  // All else is looked at when it goes, under its lock.
  return candidate.kind === 'workspace' ? workspaceHoldReason(core, candidate.workspace) : undefined
}

/** A workspace that somebody named, works in, has leased, or does something with. */
export async function workspaceHoldReason(core: Core, workspace: Workspace): Promise<string | undefined> {
  if (isKept(workspace)) return 'it has the label keep'
  if (workspace.operation !== null) return `it is busy with ${workspace.operation.kind}`
  if (workspace.state !== 'ready' && workspace.state !== 'stopped' && workspace.state !== 'failed')
    return `it is ${workspace.state}`
  try {
    await assertUnused(core, workspace, { now: true })
    return undefined
  } catch (error) {
    const { code, message } = toAwError(error)
    if (code !== 'workspace_active') throw error
    return message
  }
}
