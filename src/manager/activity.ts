import { AwError } from '../domain/errors.ts'
import { nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Core } from './core.ts'
import { volumeOf } from './places.ts'

export interface Risks {
  readonly include_active?: boolean | undefined
  readonly include_leased?: boolean | undefined
  readonly force?: boolean | undefined
}

/** A workspace that somebody still uses is not taken from under them, unless the caller names that very risk. */
export async function assertUnused(core: Core, workspace: Workspace, risks: Risks): Promise<void> {
  const name = nameOf(workspace)
  if (risks.force !== true && risks.include_leased !== true) {
    const lease = await core.store.lease(workspace.id)
    if (lease !== undefined && lease.expires_at > core.clock.now().toISOString()) {
      throw new AwError('workspace_active', `${name} is leased by ${lease.holder} until ${lease.expires_at}`, {
        hint: 'Wait for it, or accept the risk with --include-leased',
        data: { id: workspace.id, lease: { holder: lease.holder, expires_at: lease.expires_at } },
      })
    }
  }
  if (risks.force === true || risks.include_active === true) return
  const users = await core.host.users(core.storage.attachment(volumeOf(workspace)).path)
  if (users.length === 0) return
  const some = users.slice(0, 3).map(({ pid, command, uses }) => `${command} (${pid}, ${uses})`)
  throw new AwError(
    'workspace_active',
    `${name} is in use by ${some.join(', ')}${users.length > 3 ? ' and others' : ''}`,
    {
      hint: 'End these processes, or accept the risk with --include-active',
      data: { id: workspace.id, processes: users },
    },
  )
}
