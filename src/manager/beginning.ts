import { AwError, toAwError, type ErrorCode } from '../domain/errors.ts'
import { profileOf } from '../domain/profiles.ts'
import { baseNameOf, baseOf, nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Place } from '../ports/storage-driver.ts'
import { basePlace } from './bases.ts'
import { initRepository } from './build.ts'
import { withoutLease, type Core, type Request } from './core.ts'
import { takeTree } from './export-history.ts'
import { nothingKept, withDesk } from './export-tree.ts'
import { withGitBox } from './git-box.ts'
import { snapshotPlace, volumeOf } from './places.ts'
import { openScratch, withScratch } from './scratch.ts'
import { beforeAll } from './snapshots.ts'
import { openTree } from './trees.ts'

/** What a workspace began as, as long as it is held. */
export interface Beginning extends AsyncDisposable {
  readonly place: Place
  /** A path of which nothing is known, and that cannot be compared. */
  readonly unknown?: string
}

/**
 * The snapshot that a fork began as, or the base of the source. Without any it is made once more: of an empty workspace
 * what aw had put there, of a repository the files of its commit, if git can be asked for them. Of another source nothing is
 * kept then, unless a run has kept it.
 */
export async function beginningOf(core: Core, request: Request, workspace: Workspace): Promise<Beginning> {
  const [snapshot, base] = [baseOf(workspace), baseNameOf(workspace)]
  if (snapshot !== null) return kept(snapshotPlace(snapshot))
  if (base !== null && (await core.storage.exists(basePlace(base)))) return kept(basePlace(base))
  const { source } = workspace
  if (source.kind === 'empty') return madeAgain(core, request, (place) => asEmpty(core, workspace, place))
  const first = await beforeAll(core, workspace)
  if (source.kind === 'git' && source.commit !== undefined) {
    const { commit } = source
    try {
      const made = await madeAgain(core, request, (place) => asCommitted(core, request, workspace, commit, place))
      return { ...made, unknown: repositoryOf(workspace) }
    } catch (error) {
      if (first === undefined || !preventing.has(toAwError(error).code)) throw error
    }
  }
  if (first !== undefined) return kept(snapshotPlace(first))
  throw await nothingKept(core, workspace)
}

/** No walls, a state in which nothing is run, somebody who works on it: all that keeps git from being asked just now. */
const preventing: ReadonlySet<ErrorCode> = new Set(['sandbox_unenforceable', 'invalid_state', 'workspace_busy'])

const kept = (place: Place): Beginning => ({ place, ...nothingHeld })

export const nothingHeld: AsyncDisposable = { [Symbol.asyncDispose]: async () => undefined }

const repositoryOf = ({ profile }: Workspace): string => within(profileOf(profile).content, '.git')

const within = (content: string, name: string): string => (content === '.' ? name : `${content}/${name}`)

async function madeAgain(core: Core, request: Request, make: (place: Place) => Promise<void>): Promise<Beginning> {
  const scratch = await openScratch(core, request)
  try {
    await make(scratch.place)
    return scratch
  } catch (error) {
    await scratch[Symbol.asyncDispose]()
    throw error
  }
}

async function asEmpty(core: Core, workspace: Workspace, place: Place): Promise<void> {
  await bare(core, workspace, place)
  using tree = await openTree(core, place)
  await initRepository(core, workspace, tree, profileOf(workspace.profile))
}

async function bare(core: Core, { profile }: Workspace, place: Place): Promise<void> {
  await core.storage.create(place, { mode: core.config.settings['workspaces.dir_mode'] })
  using tree = await openTree(core, place)
  for (const directory of profileOf(profile).directories) tree.mkdir(directory, { parents: true })
}

/** Out of the repository inside, which git reads in a copy of its own: what counts is what the objects say. */
async function asCommitted(
  core: Core,
  request: Request,
  workspace: Workspace,
  commit: string,
  place: Place,
): Promise<void> {
  const { content } = profileOf(workspace.profile)
  await bare(core, workspace, place)
  await withScratch(core, request, async (copy) => {
    await bare(core, workspace, copy)
    await copyRepository(core, request, workspace, commit, copy)
    await withDesk({ core, request, workspace, frozen: copy }, async ({ results, maxBytes }) => {
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
