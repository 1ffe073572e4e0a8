import type { Inputs, Outputs } from '../../api/table.ts'
import type { Core } from '../core.ts'
import { findToShow } from '../kernel/find.ts'

/** What the sandboxes of a workspace asked of the network. */
export async function requests(core: Core, input: Inputs['requests']): Promise<Outputs['requests']> {
  const { id } = await findToShow(core, input.id)
  const all = await core.requests.read(id, input.refused === true ? Infinity : (input.limit ?? 1000))
  if (input.refused !== true) return all
  return all.filter(({ verdict }) => verdict === 'refused').slice(-(input.limit ?? 1000))
}
