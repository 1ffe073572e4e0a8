import { isCommitId } from '../../domain/git/ref.ts'
import type { ResultRepository } from '../../ports/git-results.ts'
import type { GitBox } from '../sandboxes/git-box.ts'

/** The commits of a workspace, as far as they can be handed on. */
export interface History {
  readonly head: string
  /** Commits that it builds on and that whoever gets it has to have; none if all of it is there. */
  readonly since: readonly string[]
}

/** How far back a commit is looked for that both have. */
const maxCommits = 20_000
const maxNamed = 200

interface Wanted {
  /** Whether there is a repository that it goes to. */
  readonly into: boolean
  readonly maxBytes: number
}

/**
 * Brings the commits of a workspace's repository. Everything that is asked in the box may be a lie: what counts is what
 * the objects say that came, each under the id of its bytes. Undefined if there is no commit, or none that leads on from
 * what the receiver has.
 */
export async function takeHistory(
  box: GitBox,
  results: ResultRepository,
  { into, maxBytes }: Wanted,
): Promise<History | undefined> {
  const head = (await idsOf(box, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']))[0]
  if (head === undefined) return undefined
  const ids = await idsOf(box, ['rev-list', `--max-count=${maxCommits}`, head])
  const common = into ? (await results.known(ids)).slice(0, maxNamed) : []
  const isCut = (await box.ask(['rev-parse', '--is-shallow-repository']))?.toString().trim() !== 'false'
  if (into && isCut && common.length === 0) return undefined
  const cuts = isCut && !into ? await idsOf(box, ['rev-list', '--max-parents=0', head]) : []
  const wanted = [head, ...common.map((id) => `^${id}`)].map((line) => `${line}\n`).join('')
  const pack = box.stream(['pack-objects', '--revs', '--stdout', '--delta-base-offset', '-q'], wanted)
  await results.take(pack, { maxBytes, cuts })
  const [nearest] = common
  if (nearest !== undefined && !(await results.isAncestor(nearest, head))) return undefined
  return { head, since: nearest === undefined ? cuts : [nearest] }
}

/** Brings the tree of one commit: what the workspace began as. */
export async function takeTree(
  box: GitBox,
  results: ResultRepository,
  commit: string,
  maxBytes: number,
): Promise<string | undefined> {
  const content = await box.ask(['cat-file', 'commit', commit])
  if (content === undefined) return undefined
  const tree = results.treeIn(commit, content)
  await results.take(box.stream(['pack-objects', '--revs', '--stdout', '-q'], `${tree}\n`), { maxBytes })
  return tree
}

async function idsOf(box: GitBox, args: readonly string[]): Promise<string[]> {
  const said = (await box.ask(args))?.toString('latin1') ?? ''
  return said.split('\n').filter(isCommitId)
}
