import { AwError } from '../../domain/errors.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Frozen } from '../../ports/storage-driver.ts'
import { ignoreGone, liveBoxes } from '../sandboxes/commands.ts'
import type { Core } from '../core.ts'
import { placeholderNames } from '../sandboxes/placeholders.ts'
import { volumeOf } from '../kernel/places.ts'

export interface QuiescedTree extends Omit<Frozen, 'consistency'> {
  readonly consistency: 'atomic' | 'frozen' | 'fuzzy'
  readonly passing?: string[]
}

/**
 * Keeps a tree while everything in its sandboxes is stopped where it is. What the storage cannot prove by itself is then
 * known: nobody of ours wrote, and nobody else works there.
 */
export async function whileQuiesced(
  core: Core,
  workspace: Workspace,
  consistent: boolean,
  keep: (consistent: boolean) => Promise<Frozen>,
): Promise<QuiescedTree> {
  const before = await placeholderNames(core, workspace)
  const kept = await freezeQuiesced(core, workspace, consistent, keep)
  // A sandbox may have been started or ended meanwhile.
  const after = await placeholderNames(core, (await core.store.get(workspace.id)) ?? workspace)
  const passing = [...new Set([...before, ...after])]
  return passing.length === 0 ? kept : { ...kept, passing }
}

async function freezeQuiesced(
  core: Core,
  workspace: Workspace,
  consistent: boolean,
  keep: (consistent: boolean) => Promise<Frozen>,
): Promise<QuiescedTree> {
  const boxes = await liveBoxes(core, workspace)
  if (boxes.length === 0) return keep(consistent)
  try {
    for (const box of boxes) await box.freeze().catch(ignoreGone)
    const frozen = await keep(false)
    if (frozen.consistency === 'atomic') return frozen
    const { path } = core.storage.attachment(volumeOf(workspace))
    const others = await core.host.users(path, { except: boxes.map(({ owner }) => owner.pid) })
    if (others.length === 0) return { ...frozen, consistency: 'frozen' }
    if (!consistent) return frozen
    throw new AwError('workspace_active', `${nameOf(workspace)} is written to from outside its sandbox`, {
      hint: 'End these processes, or take it as it is, without --consistent',
      data: { id: workspace.id, processes: others },
    })
  } finally {
    for (const box of boxes) {
      await box.thaw().catch(() => undefined)
      await box[Symbol.asyncDispose]()
    }
  }
}
