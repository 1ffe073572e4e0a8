import { AwError } from '../domain/errors.ts'
import { slotCount } from '../domain/sandbox/surroundings.ts'
import { isLive, workspaceStates, type Workspace } from '../domain/workspace/state.ts'
import type { Core, Request } from './core.ts'

/**
 * A number that no other live workspace has, for as long as it is live: its ports and its user id follow from it. The
 * work writes it to the log; until then nobody else can choose.
 */
export async function withSlot<T>(
  core: Core,
  request: Request,
  workspace: Workspace,
  work: (slot: number) => Promise<T>,
): Promise<T> {
  if (workspace.slot !== undefined) return work(workspace.slot)
  const { settings } = core.config
  using lock = await core.host.lock('slots', { timeoutMs: settings['locks.timeout_ms'], signal: request.signal })
  if (lock === undefined)
    throw new AwError('workspace_busy', 'Others are given their numbers for too long', { hint: 'Try again' })
  const live = await core.store.list({ states: workspaceStates.filter(isLive) })
  const taken = new Set(live.map(({ slot }) => slot))
  const count = slotCount(portBlocks(core))
  for (let slot = 0; slot < count; slot++) if (!taken.has(slot)) return await work(slot)
  throw new AwError('limit_reached', `All ${count} blocks of ports are taken by live workspaces`, {
    hint: 'Destroy some, or make the blocks smaller with sandbox.ports',
    data: { limit: count },
  })
}

export const portBlocks = ({ config: { settings } }: Core): { first: number; count: number } => ({
  first: settings['sandbox.first_port'],
  count: settings['sandbox.ports'],
})
