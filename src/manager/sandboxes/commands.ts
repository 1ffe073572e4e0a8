import { AwError, toAwError } from '../../domain/errors.ts'
import type { CommandId, SnapshotId, WorkspaceId } from '../../domain/ids.ts'
import type { Exit } from '../../domain/sandbox/spec.ts'
import { nameOf, type OpenCommand, type Workspace } from '../../domain/workspace/state.ts'
import type { Sandbox } from '../../ports/sandbox-driver.ts'
import { revokeBridge } from './bridge.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { append, appendAt, nameFields } from '../kernel/operations.ts'

/** How a command ended, for the log. */
export interface Ended {
  readonly command: CommandId
  readonly exit: Exit | null
  readonly snapshot: SnapshotId | null
  readonly problem?: { readonly code: string; readonly message: string }
}

/**
 * Says so in the log, whatever else happens to the workspace meanwhile.
 * @param since as it was when the command began: mostly nothing has happened since, and then it need not be read again
 */
export async function endCommand(
  core: Core,
  request: Request,
  id: WorkspaceId,
  ended: Ended,
  since?: Workspace,
): Promise<void> {
  for (let known = since; ; known = undefined) {
    const workspace = known ?? (await core.store.get(id))
    const open = workspace?.commands?.find(({ command }) => command === ended.command)
    if (workspace === undefined || open === undefined) return
    if (open.inside !== undefined) await revokeBridge(core, request, open.sandbox)
    try {
      const event = newEvent(core, request, 'command_ended', { ...nameFields(workspace), ...ended })
      await (known === undefined ? append : appendAt)(core, request, workspace, [event])
      return
    } catch (error) {
      if (toAwError(error).code !== 'version_conflict') throw error
    }
  }
}

export const isOpen = ({ commands = [] }: Workspace, id: CommandId): boolean =>
  commands.some(({ command }) => command === id)

/** Commands whose caller is dead have ended with it. Their end is written down, and what they left goes. */
export async function closeLostCommands(core: Core, request: Request, workspace: Workspace): Promise<Workspace> {
  const lost: OpenCommand[] = []
  for (const command of workspace.commands ?? []) if (await isOver(core, command)) lost.push(command)
  if (lost.length === 0) return workspace
  const problem = { code: 'lost', message: 'the process that ran it died' }
  for (const command of lost) {
    await removeOwnBox(core, command)
    await endCommand(core, request, workspace.id, { command: command.command, exit: null, snapshot: null, problem })
  }
  return (await core.store.get(workspace.id)) ?? workspace
}

/** A command ends with its caller, and with its sandbox. Of a caller that cannot be looked at, the sandbox tells. */
async function isOver(core: Core, { owner, sandbox, isolation }: OpenCommand): Promise<boolean> {
  const alive = core.host.liveness(owner)
  if (alive !== 'unknown') return alive === 'dead'
  try {
    await using box = await (await core.sandboxes(isolation)).find(sandbox)
    return box === undefined
  } catch (error) {
    ignoreTimeout(error)
    return false
  }
}

/** A sandbox that does not answer is there, but cannot be asked for anything: it can only be removed. */
export function ignoreTimeout(error: unknown): undefined {
  if (toAwError(error).code !== 'timeout') throw error
}

/** One that was found may have ended before it is asked for anything, as commands come and go. */
export function ignoreGone(error: unknown): undefined {
  if (toAwError(error).code !== 'sandbox_gone') throw error
}

async function removeOwnBox(core: Core, { sandbox, own_sandbox: own, isolation }: OpenCommand): Promise<void> {
  if (own) await (await core.sandboxes(isolation)).remove(sandbox)
}

/**
 * Ends commands that have sandboxes of their own. The log says so first: one that has begun and whose sandbox is not up
 * yet looks there when it is, and goes no further.
 */
export async function endOwnBoxes(
  core: Core,
  request: Request,
  workspace: Workspace,
  graceMs = 2_000,
): Promise<Workspace> {
  const own = (workspace.commands ?? []).filter((command) => command.own_sandbox)
  if (own.length === 0) return workspace
  const problem = { code: 'stopped', message: 'it was ended from outside' }
  for (const { command } of own)
    await endCommand(core, request, workspace.id, { command, exit: null, snapshot: null, problem })
  await Promise.all(own.map((command) => endOwnBox(core, command, graceMs)))
  return (await core.store.get(workspace.id)) ?? workspace
}

async function endOwnBox(core: Core, command: OpenCommand, graceMs: number): Promise<void> {
  await using box = await (await core.sandboxes(command.isolation)).find(command.sandbox).catch(ignoreTimeout)
  await box?.stop({ graceMs })
  await removeOwnBox(core, command)
}

/** The sandboxes that are around a workspace now, each connected to. */
export async function liveBoxes(core: Core, workspace: Workspace): Promise<Sandbox[]> {
  const own = (workspace.commands ?? []).filter(({ own_sandbox }) => own_sandbox)
  const all = [...(workspace.sandbox === undefined ? [] : [workspace.sandbox]), ...own]
  const found: Sandbox[] = []
  for (const { sandbox, isolation } of all) {
    const box = await (await core.sandboxes(isolation)).find(sandbox)
    if (box !== undefined) found.push(box)
  }
  return found
}

/** What runs around a workspace: commands, and what they left running. Undefined if nothing does. */
export async function describeRunning(core: Core, workspace: Workspace): Promise<string | undefined> {
  if (workspace.run !== undefined) return `run ${workspace.run.number} is ${workspace.run.state} in it`
  const commands = workspace.commands?.length ?? 0
  if (commands > 0) return commands === 1 ? 'a command runs in it' : `${commands} commands run in it`
  if (workspace.sandbox === undefined) return undefined
  await using box = await (await core.sandboxes(workspace.sandbox.isolation)).find(workspace.sandbox.sandbox)
  const { processes } = (await box?.status().catch(ignoreGone)) ?? { processes: 0 }
  if (processes === 0) return undefined
  return processes === 1 ? 'a process runs in its sandbox' : `${processes} processes run in its sandbox`
}

export async function assertNothingRuns(core: Core, workspace: Workspace, hint: string): Promise<void> {
  const what = await describeRunning(core, workspace)
  if (what === undefined) return
  throw new AwError('workspace_active', `${nameOf(workspace)} is in use: ${what}`, { hint, data: { id: workspace.id } })
}

const maxArguments = 8_192

/** What the log keeps of a command. */
export function cutArguments(given: readonly string[]): { argv: string[]; argv_cut: boolean } {
  const argv: string[] = []
  let left = maxArguments
  for (const argument of given) {
    if (argument.length > left) break
    argv.push(argument)
    left -= argument.length + 1
  }
  return { argv, argv_cut: argv.length < given.length }
}
