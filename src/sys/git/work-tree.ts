import { lstatSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { realpathOf } from '../copy/source-folder.ts'
import type { Folder } from './folder.ts'
import { openLocal } from './local.ts'

/** The work tree that a folder lies in, and what a copy of it needs to be a repository of its own. */
export interface Checkout {
  /** The top of the work tree; the folder itself if it is in none. */
  readonly root: string
  /** Patterns of what must not come along, for it belongs to other work trees, or to a git that is at work right now. */
  readonly exclude: readonly string[]
  /** Whether a `.worktreeinclude` says which of the ignored files come along. */
  readonly lists: boolean
  /** Of a linked work tree, whose `.git` only names a repository: what one of its own is put together from. */
  readonly repository?: readonly Piece[]
}

/** A file or directory of this machine, and the path that it gets in the work tree. */
interface Piece {
  readonly from: string
  readonly to: string
}

/**
 * Looks at names and small files, follows no link and runs no git. `source_failed` if a copy of the work tree could not
 * be a repository of its own: what git does in it would then be done to another one.
 */
export function checkoutAt(folder: string): Checkout {
  const real = realpathOf(folder)
  const root = topOf(real)
  const lists = lstatSync(join(root ?? real, '.worktreeinclude'), { throwIfNoEntry: false })?.isFile() === true
  if (root === undefined) return { root: real, exclude: foreign, lists }
  using repository = openLocal(root)
  const { git, common } = repository
  for (const [holder, name] of [
    [common, 'config'],
    [git, 'config.worktree'],
  ] as const)
    assertOwnTree(root, holder, name)
  const exclude = [...foreign, ...locks, ...otherTrees(root, common)]
  if (git === common) return { root, exclude: [...exclude, '/.git/worktrees/'], lists }
  return { root, exclude: [...exclude, '/.git'], lists, repository: piecesOf(root, git, common) }
}

/** Where Claude Code keeps its own work trees. */
const foreign = ['/.claude/worktrees/']
/** A lock that came along would never be let go. */
const locks = ['/.git/*.lock', '/.git/**/*.lock']
/** What all work trees of a repository have in common; the rest of it is the state of its main work tree. */
const shared = [
  'config',
  'description',
  'hooks',
  'info',
  'lfs',
  'logs',
  'modules',
  'objects',
  'packed-refs',
  'refs',
  'shallow',
]
/** What a work tree has for itself, if it is in the middle of something. */
const underWay = ['rebase-apply', 'rebase-merge', 'sequencer']
/** Of a linked work tree: where it is, and whether a git is at work in it. */
const bookkeeping = /^(?:gitdir|commondir|locked)$|\.lock$/

function piecesOf(root: string, git: Folder, common: Folder): Piece[] {
  const all = common.names().map(({ name }) => name)
  if (all.includes('reftable'))
    throw new AwError('source_failed', `${root} is a linked work tree of a repository that keeps its refs in tables`, {
      hint: 'Start in the main work tree of the repository',
      data: { folder: root },
    })
  const own = git.names().filter(({ name, directory }) => {
    if (directory) return underWay.includes(name)
    return /^[\w.-]+$/.test(name) && !bookkeeping.test(name)
  })
  const inside = ['logs/HEAD', 'info/sparse-checkout'].filter((path) => git.read(path) !== undefined)
  const from = (folder: Folder, paths: readonly string[]): Piece[] =>
    paths.map((path) => ({ from: join(pathOf(folder), path), to: `.git/${path}` }))
  return [
    ...from(
      common,
      shared.filter((name) => all.includes(name)),
    ),
    ...from(git, [...own.map(({ name }) => name), ...inside]),
  ]
}

function topOf(folder: string): string | undefined {
  if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false }) !== undefined) return folder
  const above = dirname(folder)
  return above === folder ? undefined : topOf(above)
}

const pathOf = (folder: Folder): string => realpathSync.native(`/proc/self/fd/${folder.fd}`)

/** A configuration that comes along and names a work tree would have git write there instead of into the copy. */
function assertOwnTree(root: string, holder: Folder, name: string): void {
  const text = holder.read(name, 1024 * 1024)?.toString('latin1') ?? ''
  if (!/^\s*(?:\[[^\]]*\]\s*)?worktree\s*=/im.test(text)) return
  throw new AwError('source_failed', `The repository ${root} names its work tree in its ${name} (core.worktree)`, {
    hint: 'git would work there instead of in a copy; remove the setting, or start in another clone',
    data: { folder: root },
  })
}

/** Linked work trees inside of this one: each leads back to the repository that it was made from. */
function otherTrees(root: string, common: Folder): string[] {
  return common.names('worktrees').flatMap(({ name, directory }) => {
    if (!directory) return []
    const named = common.read(`worktrees/${name}/gitdir`, 8192)?.toString().trim() ?? ''
    const tree = dirname(resolve(root, '.git', 'worktrees', Buffer.from(name, 'latin1').toString(), named))
    return tree.startsWith(root + sep) ? [`${escaped(tree.slice(root.length))}/`] : []
  })
}

/** As a pattern that fits nothing else. */
const escaped = (path: string): string => path.replaceAll(/[\\*?[\]]/g, (sign) => `\\${sign}`).replace(/ $/, '\\ ')
