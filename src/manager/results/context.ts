import { AwError } from '../../domain/errors.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { nameOf, type GitSource, type Workspace } from '../../domain/workspace/state.ts'
import type { AddedTree, ResultRepository } from '../../ports/git-results.ts'
import type { CreateOptions, Place } from '../../ports/storage-driver.ts'
import { withoutAgentBlocks } from '../workspaces/agent-blocks.ts'
import type { Core, Request } from '../core.ts'
import { withGitBox, type GitBox } from '../sandboxes/git-box.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { withCopy, withScratch } from '../files/scratch.ts'
import { snapshotsOf } from '../snapshots/lookup.ts'
import { existsAt, openTree } from '../kernel/trees.ts'

/** What an export works on. */
export interface ExportContext {
  readonly core: Core
  readonly request: Request
  readonly workspace: Workspace
  /** The state that is exported. */
  readonly frozen: Place
  readonly results: ResultRepository
  /** The commit that it all began with, over however many forks. */
  readonly origin: GitSource | null
  /** Also what git ignores. */
  readonly ignored: boolean
  readonly maxBytes: number
}

interface Opening {
  readonly core: Core
  readonly request: Request
  readonly workspace: Workspace
  readonly frozen: Place
  readonly target?: string | undefined
  readonly ignored?: boolean | undefined
}

/** A repository of ours for the time of an export. One that a killed process left is found by recovery. */
export async function withExportContext<T>(opening: Opening, use: (context: ExportContext) => Promise<T>): Promise<T> {
  const { core, request, workspace, frozen, target, ignored = false } = opening
  const origin = await originOf(core, workspace)
  return withScratch(core, request, async (place) => {
    await core.storage.create(place, { mode: 0o700, plain: true })
    const results = await core.results.open(core.storage.attachment(place).path, {
      target,
      ...(origin?.commit !== undefined && { sha256: origin.commit.length === 64 }),
      signal: request.signal,
    })
    const { bytes: free } = await core.storage.free()
    const maxBytes = Math.max(0, free - core.config.settings['space.min_free_mb'] * 2 ** 20)
    return use({ core, request, workspace, frozen, results, origin, ignored, maxBytes })
  })
}

/** Of a fork, that of what it is a fork of. */
async function originOf(core: Core, workspace: Workspace): Promise<GitSource | null> {
  let { source } = workspace
  for (let step = 0; step < maxForks && source.kind === 'workspace'; step++) {
    const from = await core.store.get(source.workspace)
    if (from === undefined) return null
    source = from.source
  }
  return source.kind === 'git' ? source : null
}

const maxForks = 1000

/** Asks git in a copy of its own, which goes afterwards: nothing that it does there is in what is exported. */
export const inGitBox = <T>(
  { core, request, workspace, frozen }: ExportContext,
  use: (box: GitBox) => Promise<T>,
): Promise<T> =>
  withCopy(core, request, { workspace, place: frozen }, (place) => withGitBox(core, request, workspace.id, place, use))

/** Whether there is anything in a state that git would take for a repository. */
export function hasRepository({ core, workspace, frozen }: ExportContext): Promise<boolean> {
  const { content } = profileOf(workspace.profile)
  return existsAt(core, frozen, content === '.' ? '.git' : `${content}/.git`)
}

/** The content of a frozen state as git would have it. */
export async function addFrozenTree(
  context: ExportContext,
  frozen: Frozen,
  { without = [], ...options }: Adding,
): Promise<AddedTree> {
  const { core, request, workspace, results, maxBytes } = context
  const { content, metadata } = profileOf(workspace.profile)
  return withCopy(core, request, { workspace, ...frozen }, async (place) => {
    await withoutAgentBlocks(core, place, workspace)
    await remove(core, place, without)
    using reached = await core.storage.reach(place)
    request.onProgress?.({ phase: 'reading files' })
    const directory = content === '.' ? reached.path : `${reached.path}/${content}`
    const exclude = content === '.' ? [metadata] : []
    return await results.add(directory, { exclude, maxBytes, ...options })
  })
}

type Frozen = Pick<KnownTree, 'place' | 'contents'> & Pick<CreateOptions, 'onMissing'>

interface Adding {
  readonly tracked: string | null
  readonly ignored: boolean
  /** Paths of the tree that are left out. */
  readonly without?: readonly string[]
}

async function remove(core: Core, place: Place, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  using tree = await openTree(core, place)
  for (const path of paths) tree.remove(path, { missing: 'ignore' })
}

/** Where to go on: what there is to compare with. @param now the snapshot that was to be compared, if it is one */
export async function noBaselineToCompare(core: Core, workspace: Workspace, now?: Place): Promise<AwError> {
  const name = nameOf(workspace)
  const { source, profile, path } = workspace
  const [first] = [...(await snapshotsOf(core, workspace.id)).values()].filter(({ snapshot }) => snapshot !== now?.name)
  const { content } = profileOf(profile)
  const beside =
    source.kind === 'folder' ? `diff -r ${source.path} ${content === '.' ? path : `${path}/${content}`}; ` : ''
  const hint =
    first === undefined
      ? `${beside}before the next change take a snapshot to compare with: aw snapshot ${name}, then aw diff ${name}@head`
      : `Its first snapshot is of ${first.at}: aw diff ${name}@${first.snapshot}, aw export ${name} --patch --since ${first.snapshot}`
  const message = `Nothing was kept of what ${name} began as, so nobody knows what changed since`
  return new AwError('snapshot_not_found', message, { hint, data: { id: workspace.id } })
}
