import { join } from 'node:path'
import type { Cloned, Resolved } from '../../../ports/repositories.ts'
import { checkOut, commitAt, type GitWork } from './checkout.ts'
import { noCommit } from '../../../sys/git/failures.ts'
import { contentOf } from './index-file.ts'
import { makeRepository } from '../../../sys/git/layout.ts'
import { nameBytes, nameText, type Ref, type Refs } from '../../../sys/git/refs.ts'
import { chownTree } from '../../../sys/copy/chown-tree.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'
import { withWriteback } from '../../../sys/trees/writeback.ts'

/** What a workspace's repository is made of, wherever its objects come from. */
export interface RepositoryContents {
  readonly resolved: Resolved
  readonly shallow: boolean
  /** The branches and tags of the source, by their names there. */
  readonly refs: Refs
  /** Commits without their parents, in the source. */
  readonly cuts: readonly string[]
  /** The branch that the source shows first, if it is known. */
  readonly defaultBranch: string | null
  /** Brings the objects into a repository. */
  readonly bring: (repository: string) => Promise<void>
}

/** Makes the repository with its objects, in an empty directory. */
export async function writeRepository(tree: string, material: RepositoryContents): Promise<void> {
  const { resolved, shallow } = material
  const { commit } = resolved
  const repository = join(tree, '.git')
  const branch = branchOf(resolved)
  makeRepository(repository, {
    head: branch === null ? commit : `refs/heads/${branch}`,
    sha256: commit.length === 64,
    bare: false,
    refs: refsOf(material, branch),
    shallow: shallow ? [commit] : material.cuts,
    origin: {
      url: resolved.url,
      fetch: shallow ? narrowFetch(resolved, branch) : '+refs/heads/*:refs/remotes/origin/*',
      branch,
      defaultBranch: defaultOf(material, branch),
    },
  })
  await material.bring(repository)
}

/** What is told of a clone that was to have all of the history. */
export const historyFields = (tree: string, refs: string | undefined): Pick<Cloned, 'refs' | 'cut'> => ({
  refs,
  ...(readIfPresent(join(tree, '.git', 'shallow')) !== undefined && { cut: true }),
})

/** Makes the work tree of a repository that was just written. */
export async function fillTree(tree: string, resolved: Resolved, work: GitWork): Promise<Cloned> {
  const { commit } = resolved
  const branch = branchOf(resolved)
  if (resolved.ref === null) await assertCommit(join(tree, '.git'), resolved, work)
  const content = await withWriteback(tree, async () => {
    await checkOut(tree, commit, work)
    const owning = chownTree(tree, work.signal)
    try {
      return contentOf(tree, commit.length / 2)
    } finally {
      await owning
    }
  })
  return { branch: branch === null ? null : nameText(branch), ...content }
}

/**
 * The refs, with the tag that was asked for as it is in the source, if it still leads to the commit.
 * @param lookUp the commit that an id leads to in the source
 */
export async function withTag(
  refs: Refs,
  resolved: Resolved,
  lookUp: (id: string) => Promise<string | undefined>,
): Promise<{ refs: Refs; tags: string[] }> {
  const tag = tagOf(resolved)
  const id = tag === null ? undefined : refs.get(tag)?.id
  if (tag === null || id === undefined || id === resolved.commit) return { refs, tags: [] }
  if ((await lookUp(id)) === resolved.commit) return { refs, tags: [id] }
  return { refs: new Map([...refs, [tag, { id: resolved.commit }]]), tags: [] }
}

const branchOf = ({ ref }: Resolved): string | null =>
  ref?.startsWith('refs/heads/') ? nameBytes(ref.slice('refs/heads/'.length)) : null

export const tagOf = ({ ref }: Resolved): string | null => (ref?.startsWith('refs/tags/') ? nameBytes(ref) : null)

function refsOf({ resolved, shallow, refs }: RepositoryContents, branch: string | null): Refs {
  const made = new Map<string, Ref>()
  if (!shallow) {
    for (const [name, ref] of refs) made.set(name.replace(/^refs\/heads\//, 'refs/remotes/origin/'), ref)
  }
  if (branch !== null) {
    made.set(`refs/heads/${branch}`, { id: resolved.commit })
    // What was asked for, also if the branch has moved on since.
    made.set(`refs/remotes/origin/${branch}`, { id: resolved.commit })
  }
  const tag = tagOf(resolved)
  if (tag !== null) made.set(tag, refs.get(tag) ?? { id: resolved.commit })
  return made
}

/** As git does it for one branch or tag; later fetches then stay as small. */
function narrowFetch(resolved: Resolved, branch: string | null): string {
  const tag = tagOf(resolved)
  if (branch !== null) return `+refs/heads/${branch}:refs/remotes/origin/${branch}`
  return tag === null ? '+refs/heads/*:refs/remotes/origin/*' : `+${tag}:${tag}`
}

function defaultOf({ shallow, refs, defaultBranch }: RepositoryContents, branch: string | null): string | null {
  if (defaultBranch === null) return null
  const isThere = shallow ? defaultBranch === branch : refs.has(`refs/heads/${defaultBranch}`)
  return isThere ? defaultBranch : null
}

/**
 * An id may be that of anything, or of nothing.
 * @param objects where they are, if not in the repository
 */
export async function assertCommit(
  repository: string,
  { commit, url }: Resolved,
  work: GitWork,
  objects?: Parameters<typeof commitAt>[3],
): Promise<void> {
  if ((await commitAt(repository, commit, work, objects)) !== commit) throw noCommit(url, commit)
}
