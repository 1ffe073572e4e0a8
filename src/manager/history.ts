import type { Inputs, Outputs } from '../api/table.ts'
import type { AnyEvent } from '../domain/event.ts'
import type { Core } from './core.ts'
import { findWorkspace } from './find.ts'
import { snapshotsOf } from './snapshots.ts'

type Command = Outputs['history'][number]

/** The commands of a workspace, as the log tells them. */
export async function history(core: Core, input: Inputs['history']): Promise<Outputs['history']> {
  const { id } = await findWorkspace(core, input.id)
  const commands = new Map<string, Command>()
  const snapshots = await snapshotsOf(core, id)
  for await (const event of core.store.read(id, { types: ['command_started', 'command_ended'] })) {
    if (event.type === 'command_started') commands.set(event.data.command, started(event))
    if (event.type !== 'command_ended') continue
    const { command, exit, problem = null, snapshot } = event.data
    const before = commands.get(command)
    if (before === undefined) continue
    const files_changed = snapshot === null ? null : (snapshots.get(snapshot)?.files_changed ?? null)
    commands.set(command, {
      ...before,
      state: exit === null ? 'failed' : 'ended',
      exit,
      problem,
      snapshot,
      files_changed,
    })
  }
  const all = [...commands.values()]
  return input.limit === undefined ? all : all.slice(-input.limit)
}

function started({ data, at, meta }: Extract<AnyEvent, { type: 'command_started' }>): Command {
  const { command, argv, argv_cut, cwd, isolation } = data
  const open = { state: 'running' as const, exit: null, problem: null, snapshot: null, files_changed: null }
  return { command, argv, argv_cut, cwd, isolation, actor: meta.actor, started_at: at, ...open }
}
