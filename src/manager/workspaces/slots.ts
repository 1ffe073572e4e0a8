import { AwError } from '../../domain/errors.ts'
import { slotCount } from '../../domain/sandbox/variables.ts'
import { isLive, workspaceStates, type Workspace } from '../../domain/workspace/state.ts'
import type { Lock } from '../../ports/host.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { append, nameFields } from '../kernel/operations.ts'

/** A workspace that has its number. */
export type Slotted = Workspace & { readonly slot: number }

const hasSlot = (workspace: Workspace): workspace is Slotted => workspace.slot !== undefined

/**
 * Gives a workspace a number that no other live one has, for as long as it is live: its ports and its user id follow
 * from it. Others wait only until it is in the log. Needs the lock of the workspace.
 */
export async function withSlot(core: Core, request: Request, workspace: Workspace): Promise<Slotted> {
  if (hasSlot(workspace)) return workspace
  using _ = await lockSlots(core, request)
  const slot = await freeSlot(core)
  const data = { ...nameFields(workspace), slot }
  const event = newEvent(core, request, 'workspace_slot_taken', data)
  return { ...(await append(core, request, workspace, [event])), slot }
}

/** As long as others are given theirs, nobody is stuck: of fifty that begin at once the last waits longer than for one. */
async function lockSlots(core: Core, request: Request): Promise<Lock> {
  const timeoutMs = core.config.settings['locks.timeout_ms']
  let before: string | undefined
  for (;;) {
    const lock = await core.host.lock('slots', { timeoutMs, signal: request.signal })
    if (lock !== undefined) return lock
    const now = (await slotted(core)).map(({ id, slot }) => `${id} ${slot}`).join()
    if (now === before)
      throw new AwError('workspace_busy', 'Others are given their numbers for too long', {
        hint: 'Try again; if it stays so, look for a process of aw that is stopped',
      })
    before = now
  }
}

const slotted = async ({ store }: Core): Promise<Slotted[]> =>
  (await store.list({ states: workspaceStates.filter(isLive) })).filter(hasSlot)

async function freeSlot(core: Core): Promise<number> {
  const taken = new Set((await slotted(core)).map(({ slot }) => slot))
  const count = slotCount(portBlocks(core))
  for (let slot = 0; slot < count; slot++) if (!taken.has(slot)) return slot
  throw new AwError('limit_reached', `All ${count} blocks of ports are taken by live workspaces`, {
    hint: 'Destroy some, or make the blocks smaller with sandbox.ports',
    data: { limit: count },
  })
}

export const portBlocks = ({ config: { settings } }: Core): { first: number; count: number } => ({
  first: settings['sandbox.first_port'],
  count: settings['sandbox.ports'],
})
