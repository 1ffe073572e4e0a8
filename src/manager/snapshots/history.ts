import type { Inputs, Outputs } from '../../api/table.ts'
import type { AnyEvent } from '../../domain/log/event.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { countChanges } from '../diff/differences.ts'
import { findWorkspace } from '../kernel/find.ts'
import { snapshotsOf } from './lookup.ts'

type Command = Outputs['history'][number]

/** The commands of a workspace, as the log tells them. */
export async function history(core: Core, input: Inputs['history']): Promise<Outputs['history']> {
  const workspace = await findWorkspace(core, input.id)
  const { id } = workspace
  const commands = new Map<string, Command>()
  const snapshots = await snapshotsOf(core, id)
  for await (const event of core.store.read(id, { types: ['command_started', 'command_ended'] })) {
    if (event.type === 'command_started') commands.set(event.data.command, started(event))
    if (event.type !== 'command_ended') continue
    const { command, exit, problem = null, snapshot } = event.data
    const before = commands.get(command)
    if (before === undefined) continue
    commands.set(command, {
      ...before,
      state: exit === null || problem?.code === 'aborted' ? 'failed' : 'ended',
      exit,
      problem,
      snapshot,
    })
  }
  const shown = [...commands.values()].slice(-(input.limit ?? maxShown))
  return Promise.all(
    shown.map(async (one) => ({ ...one, files_changed: await changedBy(core, workspace, snapshots, one) })),
  )
}

const maxShown = 1000

/** Not every driver tells when it freezes a tree; then the snapshot is compared with the one before it. */
async function changedBy(
  core: Core,
  workspace: Workspace,
  snapshots: Awaited<ReturnType<typeof snapshotsOf>>,
  { snapshot: id }: Command,
): Promise<number | null> {
  const kept = id === null ? undefined : snapshots.get(id as SnapshotId)
  // Compared with what is its parent now, others would have a part in it.
  if (kept?.differed !== undefined) return kept.differed
  if (kept === undefined || kept.files_changed !== null || kept.parent === null) return kept?.files_changed ?? null
  try {
    const { added, changed, removed } = await countChanges(core, workspace, kept.parent, kept.snapshot, null)
    return added + changed + removed
  } catch {
    // One of them may be gone by now.
    return null
  }
}

function started({ data, at, meta }: Extract<AnyEvent, { type: 'command_started' }>): Command {
  const { command, argv, argv_cut, cwd, isolation } = data
  const open = { state: 'running' as const, exit: null, problem: null, snapshot: null, files_changed: null }
  return { command, argv, argv_cut, cwd, isolation, actor: meta.actor, started_at: at, ...open }
}
