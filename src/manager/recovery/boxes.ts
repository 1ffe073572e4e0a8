import { isolations } from '../../domain/sandbox/spec.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { closeLostCommands } from '../sandboxes/commands.ts'
import type { Core, Request } from '../core.ts'
import { closeLostBox } from '../sandboxes/stop.ts'
import { settleRun } from '../runs/settle.ts'
import { isScratchName } from '../files/scratch.ts'

/** What the log says runs around a workspace, and does not, is closed in the log. Needs the lock. */
export async function closeLostRuns(core: Core, request: Request, workspace: Workspace): Promise<Workspace> {
  // A run is told from its sandbox, so it comes first.
  const settled = await settleRun(core, request, workspace)
  return closeLostCommands(core, request, await closeLostBox(core, request, settled))
}

/**
 * Sandboxes on the machine that the log does not know, or says are over, are ended: an intent is in the log before a
 * sandbox is started, so nobody waits for them. The machine is read first, then the log.
 */
export async function removeStrayBoxes(core: Core): Promise<string[]> {
  const removed: string[] = []
  for (const isolation of isolations) {
    const driver = await core.sandboxes(isolation)
    const present = await driver.list()
    if (present.length === 0) continue
    const known = new Set((await core.store.list()).flatMap(boxesOf))
    for (const { name } of present.filter((box) => !known.has(box.name)))
      if (await unlessInUse(core, name, () => driver.remove(name))) removed.push(name)
  }
  return removed
}

/** One around a tree that is no workspace's has the name of that, and of its lock. */
async function unlessInUse(core: Core, name: string, remove: () => Promise<void>): Promise<boolean> {
  using lock = isScratchName(name) ? await core.host.lock(name, { timeoutMs: 0 }) : null
  if (lock === undefined) return false
  await remove()
  if (lock !== null && !(await core.storage.exists({ area: 'tmp', name }))) lock.retire()
  return true
}

const boxesOf = ({ sandbox, commands = [], operation }: Workspace): string[] => [
  ...(sandbox === undefined ? [] : [sandbox.sandbox]),
  ...commands.map((command) => command.sandbox),
  ...(operation === null ? [] : [String(operation.intent['sandbox'])]),
]
