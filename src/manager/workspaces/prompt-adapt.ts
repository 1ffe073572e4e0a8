import type { Inputs, Outputs } from '../../api/table.ts'
import { adaptPrompt as adapt } from '../../domain/paths.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { Core } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { hasHostPaths } from '../kernel/view.ts'
import { notVisible } from './path.ts'
import { insideOf } from './paths.ts'

const legacyMounts = ['/mnt/workspace', '/workspace', '/mnt/okcomputer']

export async function adaptPrompt(core: Core, input: Inputs['prompt adapt']): Promise<Outputs['prompt adapt']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  if (input.host === true && !hasHostPaths(core)) throw notVisible(workspace)
  const to = input.host === true ? workspace.path : insideOf(core, workspace)
  return { text: adapt(input.text, { from: input.from ?? legacyMounts, to }) }
}
