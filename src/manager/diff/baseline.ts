import { AwError, toAwError, type ErrorCode } from '../../domain/errors.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import type { Change } from '../../domain/trees/diff.ts'
import { baseNameOf, baseOf, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { ContentFolder, Place } from '../../ports/storage-driver.ts'
import { basePlace, isListedBase, isOwnBase } from '../sources/base-trees.ts'
import { initRepository } from '../workspaces/build.ts'
import { withoutLease, type Core, type Request } from '../core.ts'
import { isBelow, pathChanges } from './differences.ts'
import { takeTree } from '../results/commit-history.ts'
import { noBaselineToCompare, withExportContext } from '../results/context.ts'
import { withGitBox } from '../sandboxes/git-box.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { changesBetween } from '../sandboxes/placeholders.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { openScratch, withScratch } from '../files/scratch.ts'
import { initialSnapshot } from '../snapshots/lookup.ts'
import { fillWithoutBase } from '../sources/content.ts'
import { existsAt, openTree } from '../kernel/trees.ts'

/** What a workspace began as, as long as it is held. */
export interface Baseline extends AsyncDisposable, Pick<KnownTree, 'contents'> {
  readonly place: Place
  /** A path that is not compared, or of which nothing is known. */
  readonly unknown?: string
}

/**
 * The snapshot that a fork began as, or the base of the source, or of the workspace alone. What an empty one began as is
 * made once more. A workspace of an earlier version may have none of these: of a repository the files of its commit are
 * made once more then, if git can be asked for them; of another source nothing is kept, unless its first snapshot shows it.
 */
export async function baselineOf(core: Core, request: Request, workspace: Workspace): Promise<Baseline> {
  const [snapshot, base] = [baseOf(workspace), baseNameOf(workspace)]
  if (snapshot !== null) return withoutOwnFiles(core, workspace, kept(snapshotPlace(snapshot)))
  const { source } = workspace
  if (base !== null && (await core.storage.exists(basePlace(base)))) {
    const known = await withContents(core, request, { workspace, place: basePlace(base) })
    // What git does in a repository of its own making is nobody's work: only a base that others begin as tells of it.
    if (source.kind === 'git' && isOwnBase(base)) return { ...known, unknown: repositoryOf(workspace) }
    return withoutOwnFiles(core, workspace, known)
  }
  if (source.kind === 'empty') return recreate(core, request, (place) => recreateEmpty(core, workspace, place))
  const first = await initialSnapshot(core, workspace)
  if (source.kind === 'git' && source.commit !== undefined) {
    const { commit } = source
    try {
      const made = await recreate(core, request, (place) => recreateFromCommit(core, request, workspace, commit, place))
      return { ...made, unknown: repositoryOf(workspace) }
    } catch (error) {
      if (first === undefined || !isBaselineUnavailable(error)) throw error
    }
  }
  if (first !== undefined) return kept(snapshotPlace(first))
  throw await noBaselineToCompare(core, workspace)
}

/** A repository that `aw` made beside what came from the source is nobody's work either. */
async function withoutOwnFiles(core: Core, workspace: Workspace, baseline: Baseline): Promise<Baseline> {
  const repository = repositoryOf(workspace)
  if (!workspace.config.git_config.enabled || (await existsAt(core, baseline.place, repository))) return baseline
  return { ...baseline, unknown: repository }
}

/** Failures that say nothing about where the contents came from. */
const ours: ReadonlySet<ErrorCode> = new Set(['aborted', 'disk_full', 'internal', 'storage_unavailable'])

/** Whether nothing is known of what a change is about. */
export const isOutsideBaseline = ({ unknown }: Pick<Baseline, 'unknown'>, change: Change): boolean =>
  unknown !== undefined && pathChanges(change).every(([path]) => isBelow(path, [unknown]))

/** Whether what a workspace began as cannot be had, or not now. */
export const isBaselineUnavailable = (error: unknown): boolean => unavailableCodes.has(toAwError(error).code)

/** No walls, a state in which nothing is run, somebody who works on it: all that keeps git from being asked just now. */
const unavailableCodes: ReadonlySet<ErrorCode> = new Set([
  'sandbox_unenforceable',
  'invalid_state',
  'workspace_busy',
  'snapshot_not_found',
  'source_failed',
])

const kept = (place: Place): Baseline => ({ place, ...nothingHeld })

/** In how many paths the tree differs from what the workspace began as. */
export async function countChangesSinceBaseline(core: Core, request: Request, workspace: Workspace): Promise<number> {
  await using baseline = await baselineOf(core, request, workspace)
  const to = { workspace, place: volumeOf(workspace) }
  const looking = { renames: false, signal: request.signal }
  let count = 0
  for await (const change of changesBetween(core, { workspace, ...baseline }, to, looking))
    if (!isOutsideBaseline(baseline, change)) count += pathChanges(change).length
  return count
}

/** A tree with a way to what it does not have itself: a base may be only a list of what was there. */
export async function withContents<T extends KnownTree>(
  core: Core,
  request: Request,
  tree: T,
): Promise<T & AsyncDisposable> {
  const { workspace, place } = tree
  const isIts = place.area === 'bases' && place.name === baseNameOf(workspace)
  if (!isIts || !(await isListedBase(core, place.name))) return { ...tree, ...nothingHeld }
  let found: Promise<Contents | undefined> | undefined
  const contents = (): Promise<ContentFolder | undefined> => (found ??= contentsOf(core, request, workspace))
  return {
    ...tree,
    contents,
    [Symbol.asyncDispose]: async () => (await found?.catch(() => undefined))?.[Symbol.asyncDispose](),
  }
}

type Contents = ContentFolder & AsyncDisposable

/** Where the contents that a workspace began with may still be; made once more if need be, as long as that is held. */
async function contentsOf(core: Core, request: Request, workspace: Workspace): Promise<Contents | undefined> {
  const { source, profile } = workspace
  if (source.kind === 'folder') return { folder: source.path, into: profileOf(profile).content, ...nothingHeld }
  const make = async (place: Place): Promise<void> => {
    if (source.kind === 'git') await recreateFromCommit(core, request, workspace, source.commit ?? '', place)
    else await fillWithoutBase(core, request, source, profile, place)
  }
  if (source.kind !== 'git' && source.kind !== 'archive') return undefined
  try {
    const { place, ...held } = await recreate(core, request, make)
    // Only trees that are plain directories are listed.
    return { folder: core.storage.attachment(place).path, into: '.', ...held }
  } catch (error) {
    if (ours.has(toAwError(error).code)) throw error
    // The repository or the archive is not what it was, or not there, or cannot be read now.
    return undefined
  }
}

const nothingHeld: AsyncDisposable = { [Symbol.asyncDispose]: async () => undefined }

const repositoryOf = ({ profile }: Workspace): string => within(profileOf(profile).content, '.git')

const within = (content: string, name: string): string => (content === '.' ? name : `${content}/${name}`)

async function recreate(core: Core, request: Request, make: (place: Place) => Promise<void>): Promise<Baseline> {
  const scratch = await openScratch(core, request)
  try {
    await make(scratch.place)
    return scratch
  } catch (error) {
    await scratch[Symbol.asyncDispose]()
    throw error
  }
}

async function recreateEmpty(core: Core, workspace: Workspace, place: Place): Promise<void> {
  await createLayout(core, workspace, place)
  using tree = await openTree(core, place)
  await initRepository(core, workspace, tree, profileOf(workspace.profile))
}

async function createLayout(core: Core, { profile }: Workspace, place: Place): Promise<void> {
  await core.storage.create(place, { mode: core.config.settings['workspaces.dir_mode'] })
  using tree = await openTree(core, place)
  for (const directory of profileOf(profile).directories) tree.mkdir(directory, { parents: true })
}

/** Out of the repository inside, which git reads in a copy of its own: what counts is what the objects say. */
async function recreateFromCommit(
  core: Core,
  request: Request,
  workspace: Workspace,
  commit: string,
  place: Place,
): Promise<void> {
  const { content } = profileOf(workspace.profile)
  await createLayout(core, workspace, place)
  await withScratch(core, request, async (copy) => {
    await createLayout(core, workspace, copy)
    await copyRepository(core, request, workspace, commit, copy)
    await withExportContext({ core, request, workspace, frozen: copy }, async ({ results, maxBytes }) => {
      const tree = await withGitBox(core, withoutLease(request), workspace.id, copy, (box) =>
        takeTree(box, results, commit, maxBytes),
      )
      if (tree === undefined) throw unreadable(workspace, commit)
      using reached = await core.storage.reach(place)
      await results.checkOut(tree, content === '.' ? reached.path : `${reached.path}/${content}`)
    })
  })
}

async function copyRepository(
  core: Core,
  request: Request,
  workspace: Workspace,
  commit: string,
  copy: Place,
): Promise<void> {
  const path = repositoryOf(workspace)
  try {
    await core.storage.import(copy, { place: volumeOf(workspace), path }, { into: path, signal: request.signal })
  } catch (error) {
    throw toAwError(error).code === 'file_not_found' ? unreadable(workspace, commit) : error
  }
}

const unreadable = (workspace: Workspace, commit: string): AwError =>
  new AwError(
    'snapshot_not_found',
    `${nameOf(workspace)} began as the commit ${commit}, which its repository does not have any more`,
    {
      hint: `Compare with a snapshot: aw diff ${nameOf(workspace)}@SNAPSHOT; see which there are: aw snapshots ${nameOf(workspace)}`,
      data: { id: workspace.id, commit },
    },
  )
