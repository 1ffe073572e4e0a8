import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { isCommitId, isRefName } from '../../domain/git/ref.ts'
import { isSnapshotId } from '../../domain/ids.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { AddedTree } from '../../ports/git-results.ts'
import type { Core, Request } from '../core.ts'
import { takeHistory, type History } from './commit-history.ts'
import { addFrozenTree, hasRepository, inGitBox, withExportContext, type ExportContext } from './context.ts'
import { omissionsOfContent } from '../snapshots/omissions.ts'
import { withFrozen } from '../snapshots/current-state.ts'
import type { Operand } from '../diff/operands.ts'
import { snapshotsOf } from '../snapshots/lookup.ts'

type Input = Inputs['export']
type Result = Outputs['export']

/** As a branch of a repository of the user's. */
export async function exportBranch(core: Core, input: Input, request: Request, side: Operand): Promise<Result> {
  const { branch: name = '', repo: target, overwrite = false } = input
  assertBranchName(name)
  if (target === undefined)
    throw new AwError('invalid_input', 'A branch of which repository?', {
      hint: 'Name it: --repo PATH',
      data: { field: 'repo' },
    })
  const { workspace } = side
  return withFrozen(core, request, side, ({ place: frozen, name: snapshot, left_out }) =>
    withExportContext({ core, request, workspace, frozen, target, ignored: input.ignored }, async (context) => {
      const made = await commitsOf(context, input, snapshot)
      const reason = `aw: ${nameOf(workspace)} as in ${snapshot}`
      const { before, changed } = await context.results.branch(made.commit, { name, overwrite, reason })
      return {
        ...exportOutput(workspace, snapshot, made, left_out),
        format: 'branch',
        file: null,
        branch: name,
        before,
        changed,
      }
    }),
  )
}

/** As a file that git fetches from, or clones. */
export async function exportBundle(core: Core, input: Input, request: Request, side: Operand): Promise<Result> {
  const { workspace } = side
  const file = { path: input.bundle ?? '', replace: input.replace }
  const name = nameOf(workspace)
  const branch = isRefName(`refs/heads/${name}`) ? name : workspace.id
  return withFrozen(core, request, side, ({ place: frozen, name: snapshot, left_out }) =>
    withExportContext({ core, request, workspace, frozen, ignored: input.ignored }, async (context) => {
      const made = await commitsOf(context, input, snapshot)
      if (made.needs.includes(made.commit)) throw nothingNew(workspace)
      const bytes = await context.results.bundle(made.commit, { branch, since: made.needs, file })
      return { ...exportOutput(workspace, snapshot, made, left_out), format: 'bundle', file: file.path, branch, bytes }
    }),
  )
}

interface Made {
  readonly commit: string
  /** How many are new. */
  readonly commits: number
  /** The commit that they build on; null if on none. */
  readonly onto: string | null
  /** What a receiver has to have. */
  readonly needs: readonly string[]
  /** Whether the commits that were made in the workspace are among them. */
  readonly history: boolean
  readonly added: AddedTree
}

/** The commits of the workspace, and one more for what is not committed: its tree is what the files are, always. */
async function commitsOf(context: ExportContext, input: Input, snapshot: string): Promise<Made> {
  const { results, frozen } = context
  const history = await historyOf(context, input)
  const parent = history?.head ?? (await startOf(context, input))
  const needs = history?.since ?? (parent === null ? [] : [parent])
  const held = parent === null ? null : await results.treeOf(parent)
  const added = await addFrozenTree(context, { place: frozen }, { tracked: held, ignored: context.ignored })
  const commit =
    held === added.tree && parent !== null ? parent : await commitTree(context, input, snapshot, added, parent)
  const onto = await parentOf(context, commit, needs)
  const commits = await results.count(commit, onto === null ? [] : [onto])
  return { commit, commits, onto, needs, history: history !== undefined, added }
}

/** What it builds on, as people see it: a receiver may have some of the commits already, of an earlier export. */
async function parentOf(
  { results, origin }: ExportContext,
  commit: string,
  needs: readonly string[],
): Promise<string | null> {
  const [known] = origin?.commit === undefined ? [] : await results.known([origin.commit])
  return known !== undefined && (await results.isAncestor(known, commit)) ? known : (needs[0] ?? null)
}

async function historyOf(context: ExportContext, { squash, onto, repo }: Input): Promise<History | undefined> {
  if (squash === true || onto !== undefined || !(await hasRepository(context))) return undefined
  const { results, maxBytes, workspace, origin } = context
  const history = await inGitBox(context, (box) => takeHistory(box, results, { into: repo !== undefined, maxBytes }))
  // Elsewhere what aw writes for agents is outside the content.
  const { agent_blocks: blocks = [] } = profileOf(workspace.profile).content === '.' ? workspace : {}
  if (history === undefined || blocks.length === 0) return history
  const before = origin?.commit === undefined ? [] : await results.known([origin.commit])
  return { ...history, head: await results.without(history.head, { since: [...history.since, ...before], blocks }) }
}

/** Without commits of its own: on top of what was named, else of what it began as, if that is there; else of nothing. */
async function startOf({ results, origin }: ExportContext, { onto, repo }: Input): Promise<string | null> {
  if (onto !== undefined) return results.resolve(onto)
  if (repo === undefined || origin?.commit === undefined) return null
  return (await results.known([origin.commit]))[0] ?? null
}

async function commitTree(
  { core, workspace, results }: ExportContext,
  { message }: Input,
  snapshot: string,
  { tree }: AddedTree,
  parent: string | null,
): Promise<string> {
  const { settings } = core.config
  const { user_name: name, user_email: email } = workspace.config.git_config
  return results.commit({
    tree,
    parent,
    message: message ?? `Work of ${nameOf(workspace)}\n\nExported by aw from ${snapshot}`,
    author: { name: name || settings['git.user_name'], email: email || settings['git.user_email'] },
    at: await timeOf(core, workspace, snapshot),
  })
}

/** The same state twice gives the same commit. */
async function timeOf(core: Core, workspace: Workspace, snapshot: string): Promise<Date> {
  const found = isSnapshotId(snapshot) ? (await snapshotsOf(core, workspace.id)).get(snapshot) : undefined
  return new Date(found?.at ?? workspace.created_at)
}

const exportOutput = (
  workspace: Workspace,
  snapshot: string,
  { added, needs: _, ...made }: Made,
  left: readonly string[],
) => ({
  ...made,
  workspace: nameOf(workspace),
  snapshot,
  files: added.files,
  ignored: added.ignored,
  left_out: [...omissionsOfContent(left, workspace), ...added.left_out],
})

function assertBranchName(name: string): void {
  if (isRefName(`refs/heads/${name}`) && !name.startsWith('-') && name !== 'HEAD' && !isCommitId(name)) return
  throw new AwError('invalid_input', `${JSON.stringify(name)} is no name for a branch`, {
    hint: 'Use letters, digits, dashes and slashes, such as agent/fix-login',
    data: { field: 'branch' },
  })
}

const nothingNew = (workspace: Workspace): AwError =>
  new AwError('export_failed', `Nothing was changed in ${nameOf(workspace)}: there is nothing to put into a bundle`, {
    data: { id: workspace.id },
  })
