import type { Inputs, Outputs } from '../../api/table.ts'
import type { Core, Request } from '../core.ts'

export const verifyAudit = (
  core: Core,
  _input: Inputs['audit verify'],
  request: Request,
): Promise<Outputs['audit verify']> => core.store.verify({ ...(request.signal && { signal: request.signal }) })

export async function sealAudit(core: Core): Promise<Outputs['audit seal']> {
  return { checkpoint: (await core.store.seal(core.clock.now().toISOString())) ?? null }
}
