import type { Inputs, Outputs } from '../../api/table.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { leaseView, takeLease, withLeases } from './lease.ts'

/** Takes a lease over, from nobody or, if that is forced, from a holder who has not been heard of for long enough. */
export async function adopt(core: Core, input: Inputs['adopt'], request: Request): Promise<Outputs['adopt']> {
  const { id } = await findWorkspace(core, input.id)
  const idleMs = input.force === true ? core.config.settings['leases.force_after_seconds'] * 1000 : undefined
  return withLeases(core, request, id, async (workspace) => {
    const { lease, previous } = await takeLease(core, request, workspace, input, idleMs)
    return { ...leaseView(workspace, lease), adopted_from: previous?.holder ?? null }
  })
}
