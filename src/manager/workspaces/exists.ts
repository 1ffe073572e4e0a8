import type { Inputs, Outputs } from '../../api/table.ts'
import { isLive } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { lookUp } from '../kernel/find.ts'
import { isTreeMissing } from '../kernel/missing-tree.ts'

export async function exists(core: Core, input: Inputs['exists']): Promise<Outputs['exists']> {
  const found = await lookUp(core, input.id)
  if (found === undefined || !isLive(found.state)) return { exists: false }
  return (await isTreeMissing(core, found)) ? { exists: false, lost: true } : { exists: true }
}
