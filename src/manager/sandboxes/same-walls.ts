import { AwError } from '../../domain/errors.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { SandboxRequest } from './plan.ts'

/** What is limited for a sandbox as a whole, and not for each command. */
const ofTheBox = ['memory_mb', 'cpu_percent', 'processes'] as const

/** A sandbox that runs is what it is: other walls need another one. */
export function assertSameWalls(workspace: Workspace, input: SandboxRequest): void {
  const box = workspace.sandbox
  if (box === undefined) return
  const name = nameOf(workspace)
  const other =
    (input.isolation !== undefined && input.isolation !== box.isolation && 'isolation') ||
    (input.network !== undefined && input.network !== box.network.mode && 'network') ||
    (input.allow !== undefined && 'allow') ||
    (input.shared !== undefined && 'shared') ||
    (input.agent !== undefined && input.agent !== box.agent && 'agent') ||
    (input.mcp !== undefined && input.mcp !== (box.mcp ?? false) && 'mcp') ||
    ofTheBox.find((name) => input[name] !== undefined)
  if (other === undefined) return
  throw new AwError('invalid_input', `${name} has a sandbox already, started with another ${other}`, {
    hint: `Stop it first: aw stop ${name}`,
    data: { field: other, sandbox: box.sandbox },
  })
}
