import type { Inputs, Outputs } from '../api/table.ts'
import { parseDuration } from '../domain/duration.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import { nameOf, type Workspace } from '../domain/workspace/state.ts'
import { assertTreesUnused } from './activity.ts'
import type { Core, Request } from './core.ts'
import { gcSnapshots } from './gc-snapshots.ts'
import { withWorkspace } from './operations.ts'
import { bytesOf, purgeTrees } from './purge.ts'

type Item = Outputs['gc']['items'][number]

/** Erases trees whose time in the trash is over, and snapshots that nobody needs. One at a time in a home: the `janitor` lock. */
export async function gc(core: Core, input: Inputs['gc'], request: Request): Promise<Outputs['gc']> {
  const cutoff = cutoffOf(core, input)
  if (input.plan === true) {
    const trees = (await Promise.all((await expired(core, cutoff)).map((one) => plan(core, one)))).flat()
    const items = [...trees, ...(await gcSnapshots(core, request, cutoff, true))]
    return { applied: false, items, bytes: sum(items) }
  }
  using janitor = await core.host.lock('janitor', { timeoutMs: 0, signal: request.signal })
  if (janitor === undefined) {
    throw new AwError('workspace_busy', 'Another process is already erasing what has expired', {
      hint: 'Let it finish',
    })
  }
  const items: Item[] = []
  for (const one of await expired(core, cutoff)) items.push(...(await apply(core, request, one, cutoff)))
  // After the trees: with the last of a workspace its snapshots may be spare as well.
  items.push(...(await gcSnapshots(core, request, cutoff, false)))
  return { applied: true, items, bytes: sum(items.filter(({ error }) => error === null)) }
}

interface Expired {
  readonly workspace: Workspace
  readonly trees: readonly string[]
}

function cutoffOf(core: Core, input: Inputs['gc']): string {
  const day = 86_400_000
  const retention = core.config.settings['trash.retention_days'] * day
  const age = input.older_than === undefined ? retention : parseDuration(input.older_than, 'older_than')
  return new Date(core.clock.now().getTime() - age).toISOString()
}

async function expired(core: Core, cutoff: string): Promise<Expired[]> {
  const withTrash = await core.store.list({ withTrash: true })
  return withTrash
    .map((workspace) => ({ workspace, trees: expiredTrees(workspace, cutoff) }))
    .filter(({ trees }) => trees.length > 0)
}

const expiredTrees = (workspace: Workspace, cutoff: string): string[] =>
  workspace.trash.filter(({ at }) => at <= cutoff).map(({ tree }) => tree)

async function plan(core: Core, { workspace, trees }: Expired): Promise<Item[]> {
  return Promise.all(
    trees.map(async (tree) => ({
      tree,
      workspace: nameOf(workspace),
      reason: workspace.trash.find((entry) => entry.tree === tree)?.reason ?? 'expired',
      bytes: await bytesOf(core, [tree]).catch(() => 0),
      error: null,
    })),
  )
}

/** What was undeleted or erased since the plan was made is left alone: only what is still there under the lock goes. */
async function apply(core: Core, request: Request, one: Expired, cutoff: string): Promise<Item[]> {
  let items = await plan(core, one)
  try {
    await withWorkspace(core, request, one.workspace.id, async (workspace) => {
      // A tree that was brought back and destroyed again since has the same name, and all its time before it.
      const trees = expiredTrees(workspace, cutoff).filter((tree) => one.trees.includes(tree))
      items = items.filter(({ tree }) => trees.includes(tree))
      if (trees.length === 0) return
      await assertTreesUnused(
        core,
        { ...workspace, trash: workspace.trash.filter(({ tree }) => trees.includes(tree)) },
        {},
      )
      await purgeTrees(core, request, workspace, trees)
    })
    return items
  } catch (error) {
    return items.map((item) => ({ ...item, error: toAwError(error).message }))
  }
}

const sum = (items: readonly Item[]): number => items.reduce((total, { bytes }) => total + bytes, 0)
