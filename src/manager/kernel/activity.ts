import { AwError } from '../../domain/errors.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { ProcessUse } from '../../ports/host.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { assertNothingRuns } from '../sandboxes/commands.ts'
import type { Core } from '../core.ts'
import { isHeld } from '../access/lease-fence.ts'
import { trashOf, volumeOf } from './places.ts'

export interface Risks {
  readonly include_active?: boolean | undefined
  readonly include_leased?: boolean | undefined
  readonly force?: boolean | undefined
  /** The lease of whoever asks: they do not stand in their own way. */
  readonly lease?: string | undefined
  /** What runs in its sandbox may be ended, and the sandbox started anew. */
  readonly restart?: boolean | undefined
  /** Nobody is waited for: whoever is there now counts. */
  readonly now?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** A workspace that somebody still uses is not taken from under them, unless the caller names that very risk. */
export async function assertUnused(core: Core, workspace: Workspace, risks: Risks): Promise<void> {
  const name = nameOf(workspace)
  if (risks.force !== true && risks.include_leased !== true) {
    const lease = await core.store.lease(workspace.id)
    if (isHeld(core, lease) && lease.id !== risks.lease) {
      throw new AwError('workspace_active', `${name} is leased by ${lease.holder} until ${lease.expires_at}`, {
        hint: 'Wait for it, or accept the risk with --include-leased',
        data: { id: workspace.id, lease: { holder: lease.holder, expires_at: lease.expires_at } },
      })
    }
  }
  if (risks.force !== true && risks.include_active !== true)
    await assertNothingRuns(
      core,
      workspace,
      risks.restart !== undefined
        ? 'Wait for it, or end it and start the sandbox anew with --restart'
        : `Wait for it, end it with aw stop ${nameOf(workspace)}, or accept the risk with --include-active`,
    )
  await assertNoProcesses(core, workspace, [volumeOf(workspace)], risks)
}

/** A tree in the trash may still be somebody's working directory. */
export const assertTreesUnused = (core: Core, workspace: Workspace, risks: Risks): Promise<void> =>
  assertNoProcesses(
    core,
    workspace,
    workspace.trash.map(({ tree }) => trashOf(tree)),
    risks,
  )

async function assertNoProcesses(
  core: Core,
  workspace: Workspace,
  places: readonly Place[],
  risks: Risks,
): Promise<void> {
  if (risks.force === true || risks.include_active === true) return
  const users = await lastingUsers(core, workspace, places, risks)
  if (users.length === 0) return
  const some = users.slice(0, 3).map(({ pid, command, uses }) => `${command} (${pid}, ${uses})`)
  const others = users.length > 3 ? ' and others' : ''
  throw new AwError('workspace_active', `${nameOf(workspace)} is in use by ${some.join(', ')}${others}`, {
    hint: 'End these processes, or accept the risk with --include-active',
    data: { id: workspace.id, processes: users.map(({ pid, command, uses }) => ({ pid, command, uses })) },
  })
}

/** Processes of aw itself that read or copy files are waited for, as other operations on the workspace are. */
async function lastingUsers(
  core: Core,
  workspace: Workspace,
  places: readonly Place[],
  { now = false, signal }: Risks,
): Promise<ProcessUse[]> {
  const timeoutMs = now ? 0 : core.config.settings['locks.timeout_ms']
  const started = core.clock.now().getTime()
  const strangers = new Set<number>()
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 200)) {
    const users = await usersOf(core, workspace, places)
    const isOver = core.clock.now().getTime() - started >= timeoutMs || signal?.aborted === true
    // A process of aw that is just ending cannot be told from another: only who is still there at the second look counts.
    const stays = users.some(({ pid, own }) => own !== true && strangers.has(pid))
    if (isOver || users.length === 0 || stays) return users
    for (const { pid, own } of users) if (own !== true) strangers.add(pid)
    await core.host.pause(pauseMs, signal)
  }
}

async function usersOf(core: Core, { sandbox }: Workspace, places: readonly Place[]): Promise<ProcessUse[]> {
  const users: ProcessUse[] = []
  // What runs in its sandbox was asked for before; the sandbox itself ends with the workspace.
  const supervisor = sandbox?.supervisor
  const except = supervisor !== undefined && core.host.liveness(supervisor) === 'alive' ? [supervisor.pid] : []
  for (const place of places)
    if ((await core.storage.isIdle?.(place)) !== true)
      users.push(...(await core.host.users(core.storage.attachment(place).path, { except })))
  return users
}
