import type { AnyEvent } from '../log/event.ts'
import { evolveRuns } from './evolve-runs.ts'
import type { BoxFacts, Workspace } from './state.ts'

/** The part of `evolve` that is about sandboxes and what runs in them. */
export const evolveSandbox = (before: Workspace, event: AnyEvent): Workspace =>
  evolveRuns(evolveBox(before, event), event)

function evolveBox(before: Workspace, event: AnyEvent): Workspace {
  switch (event.type) {
    case 'sandbox_launched': {
      if (before.operation?.kind !== 'launch') return before
      const intent = before.operation.intent as unknown as BoxFacts
      const { sandbox, isolation, network, limits, mount, shared, agent, mcp } = intent
      const own = { ...(agent === undefined ? {} : { agent }), ...(mcp === undefined ? {} : { mcp }) }
      const facts = { sandbox, isolation, network, limits, mount, shared, ...own }
      const { supervisor, grades, notes } = event.data
      const box = { ...facts, started_at: event.at, supervisor, walls: { grades, notes } }
      return { ...before, operation: null, problem: null, state: 'running', sandbox: box }
    }
    case 'sandbox_stopped':
      return stopped(before, event.data)
    case 'workspace_slot_taken':
      return { ...before, slot: event.data.slot }
    case 'command_started': {
      const { command, owner, sandbox, own_sandbox, isolation, inside } = event.data
      const open = { command, owner, sandbox, own_sandbox, isolation, started_at: event.at }
      const kept = inside === undefined ? open : { ...open, inside }
      return { ...before, commands: [...(before.commands ?? []), kept] }
    }
    case 'command_ended':
      return withCommands(
        before,
        (before.commands ?? []).filter(({ command }) => command !== event.data.command),
      )
    default:
      return before
  }
}

/** What left its place has no sandbox; and the number it had may be another's. */
export function withoutSandbox({ sandbox: _, commands: __, slot: ___, ...others }: Workspace): Workspace {
  return others
}

function stopped(before: Workspace, { sandbox }: { sandbox: string }): Workspace {
  const after = before.operation?.kind === 'stop' ? { ...before, operation: null } : before
  if (before.sandbox?.sandbox !== sandbox) return after
  const { sandbox: _, ...others } = after
  return { ...others, state: before.state === 'running' ? 'stopped' : before.state }
}

/** Without any there is no such field: the fold is that of a version that knew of none. */
function withCommands({ commands: _, ...others }: Workspace, commands: NonNullable<Workspace['commands']>): Workspace {
  return commands.length === 0 ? others : { ...others, commands }
}
