import type { GitSource, Imported } from '../../domain/workspace/state.ts'
import { visible } from '../../domain/text/visible.ts'
import type { Rendered, View } from './view.ts'

/** Scripts take this line as it is, so it is the path and nothing else. */
export const pathOnly = (output: { path: string }): Rendered => ({ out: output.path })

/** The same of a workspace. One that only its sandbox sees has no path: it is named, and how to reach it is told. */
export function workspacePath({ path, workspace_id: name }: PathOfWorkspace): Rendered {
  return path === null ? { out: name, named: true, notice: noPathNotice(name) } : { out: path }
}

interface PathOfWorkspace {
  readonly workspace_id: string
  readonly path: string | null
}

export const noPathNotice = (name: string): string =>
  `${name} has no path on this machine: work in it with aw exec ${name} -- COMMAND or aw shell ${name}, copy files with aw cp`

/** What was left out of a copy is said, or somebody would believe to have it all. */
export function createdWorkspace(
  output: PathOfWorkspace & { imported: unknown; source?: unknown },
  { input }: View,
): Rendered {
  const imported = (output.imported ?? {}) as Partial<Imported>
  const {
    skipped = 0,
    reduced = 0,
    untouched_paths: untouched = [],
    excluded,
    borrows = [],
    work_tree: elsewhere,
  } = imported
  const {
    submodules = [],
    lfs = 0,
    cut = false,
    left_out: notKept,
  } = (output.source ?? {}) as Partial<GitSource> & StartedFrom
  const left = [
    ...(notKept === undefined ? [] : [omittedSubvolumes(notKept)]),
    ...(input['exclude'] !== undefined && excluded === 0 ? [noMatch(input['exclude'])] : []),
    ...(skipped === 0 ? [] : [`${skipped} of the source not copied: ${reasons(imported.skipped_paths, skipped)}`]),
    ...(imported.skipped_paths?.some(({ reason }) => reason === 'foreign_git')
      ? ['what git does there would be done to the repository that .git leads to; --repo PATH brings one of its own']
      : []),
    ...(borrows.length === 0 ? [] : [`its git reads objects that are in ${some(borrows, borrows.length)}`]),
    ...(elsewhere === undefined
      ? []
      : [
          `its git works on the files in ${visible(elsewhere)}, not on those here; git config --unset core.worktree mends it`,
        ]),
    ...(reduced === 0 ? [] : [`${reduced} of the source made with less: ${reasons(imported.reduced_paths, reduced)}`]),
    ...(untouched.length === 0 ? [] : [`nothing added to ${reasons(untouched, untouched.length)}`]),
    ...(submodules.length === 0 ? [] : [`submodules are empty: ${some(submodules, submodules.length)}`]),
    ...(lfs === 0
      ? []
      : [
          `${lfs} of its files ${lfs === 1 ? 'is kept by git-lfs, and is a pointer' : 'are kept by git-lfs, and are pointers'} here`,
        ]),
    ...(cut ? ['the repository is a shallow clone itself: its history ends here where it ends there'] : []),
  ]
  return left.length === 0 ? workspacePath(output) : { ...workspacePath(output), warning: left.join('; ') }
}

interface StartedFrom {
  readonly left_out?: readonly string[]
}

export const omittedSubvolumes = (paths: readonly string[]): string =>
  `what is in these btrfs subvolumes was not kept: ${visible(paths.join(', '))}`

/** A pattern is as in a .gitignore: one that begins with `./` or lists several never matches. */
const noMatch = (patterns: unknown): string =>
  `nothing matched --exclude ${String(patterns)}; it is written as in a .gitignore, for instance node_modules`

const reasons = (all: Imported['skipped_paths'] = [], total: number): string =>
  some(
    all.map(({ path, reason }) => `${path} (${reason})`),
    total,
  )

function some(all: readonly string[], total: number): string {
  const first = all.slice(0, 3).map(visible)
  return `${first.join(', ')}${total > first.length ? ` and ${total - first.length} more` : ''}`
}

export const existence = (output: { exists: boolean; lost?: boolean | undefined }, { quiet }: View): Rendered => ({
  out: quiet ? '' : output.exists ? 'yes' : 'no',
  ...(output.lost === true && { warning: 'its tree was removed by something other than aw; to close it: aw recover' }),
})

export function destroyed(
  output: { removed: boolean; workspace?: { workspace_id: string; state: string; problem?: { code: string } | null } },
  view: View,
): Rendered {
  if (view.quiet) return { out: '' }
  if (!output.removed) return { out: 'Nothing to destroy' }
  const { workspace } = output
  if (workspace?.problem?.code === 'lost') {
    return { out: 'Workspace destroyed', warning: 'its tree was already gone from the disk, so none is in the trash' }
  }
  if (workspace === undefined || workspace.state !== 'trashed') return { out: 'Workspace destroyed' }
  return { out: 'Workspace destroyed', note: `Bring it back with: aw undelete ${workspace.workspace_id}` }
}

/** Text means base64: the answer came through JSON. */
export const raw = (output: Uint8Array | string): Rendered => ({
  out: typeof output === 'string' ? Buffer.from(output, 'base64') : output,
})
