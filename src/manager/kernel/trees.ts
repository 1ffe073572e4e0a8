import { AwError, toAwError } from '../../domain/errors.ts'
import { isWorkspaceId } from '../../domain/ids.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { FileHandle, PathOptions, RootOptions } from '../../ports/files.ts'
import type { Place, Reached } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'

export interface Tree extends FileHandle {
  /** Where this process finds it, as long as the handle is open. */
  readonly root: string
}

/** A handle for aw itself: nothing in the tree is protected from it. */
export const openTree = (core: Core, place: Place): Promise<Tree> => openReached(core, place, {})

/** Where a tree can be looked into. One that was destroyed a moment ago is reported by its name, not by its place. */
export async function reachTree(core: Core, place: Place): Promise<Reached> {
  try {
    return await core.storage.reach(place)
  } catch (error) {
    const isGone = place.area === 'volumes' && toAwError(error).code === 'workspace_not_found'
    const workspace = isGone && isWorkspaceId(place.name) ? await core.store.get(place.name) : undefined
    if (workspace !== undefined) assertAllowed(workspace, 'files_read')
    throw error
  }
}

/** A handle on a writable tree, wherever it is seen. */
export async function openReached(
  core: Core,
  place: Place,
  options: Pick<RootOptions, 'protect' | 'hold' | 'publicRoot'>,
): Promise<Tree> {
  const { settings } = core.config
  const reached = await reachTree(core, place)
  try {
    const modes = { fileMode: settings['workspaces.file_mode'], dirMode: settings['workspaces.dir_mode'] }
    const tree = core.files.open(reached.path, { ...options, ...modes })
    return {
      ...tree,
      root: reached.path,
      [Symbol.dispose]() {
        tree[Symbol.dispose]()
        reached[Symbol.dispose]()
      },
    }
  } catch (error) {
    reached[Symbol.dispose]()
    const isGone = place.area === 'volumes' && toAwError(error).code === 'file_not_found'
    if (isGone) throw new AwError('workspace_not_found', 'The tree is gone', { data: { place }, cause: error })
    throw error
  }
}

/** Whether a tree, also a frozen one, has something at a path. */
export async function existsAt(core: Core, place: Place, path: string): Promise<boolean> {
  try {
    await core.storage.read(place, Buffer.from(path).toString('latin1'), { maxBytes: 0 })
    return true
  } catch (error) {
    const { code } = toAwError(error)
    if (code === 'file_too_large' || code === 'not_a_file') return true
    if (code === 'file_not_found' || code === 'not_a_directory') return false
    throw error
  }
}

/** Of a file; nothing of whatever else is there, or in the way. */
export function sizeAt(tree: FileHandle, path: string, absolute: PathOptions['absolute']): number {
  try {
    const { kind, size } = tree.stat(path, { absolute })
    return kind === 'file' ? size : 0
  } catch {
    return 0
  }
}

/** Of a file, or of all that are below a directory. */
export function sizeBelow(tree: FileHandle, path: string, absolute: PathOptions['absolute']): number {
  const { exists, path: from } = tree.resolve(path, { absolute })
  if (!exists || tree.stat(from).kind !== 'directory') return sizeAt(tree, path, absolute)
  return tree
    .tree(from)
    .entries.filter(({ kind }) => kind === 'file')
    .reduce((sum, entry) => sum + sizeAt(tree, from === '' ? entry.path : `${from}/${entry.path}`, 'reject'), 0)
}

/** Where a repository reads objects that it does not have itself: the first few lines of its `alternates`. */
export function gitAlternates(tree: FileHandle, content: string): readonly string[] {
  try {
    const list = tree.read(`${content}/.git/objects/info/alternates`, { maxBytes: 65_536, absolute: 'reject' })
    const lines = list.toString().split('\n')
    return lines.filter((line) => line !== '' && !line.startsWith('#')).slice(0, 20)
  } catch {
    return []
  }
}

/** The files that git works on there, where its configuration names others than those beside it. */
export function foreignWorktree(tree: FileHandle, content: string): string | undefined {
  for (const name of ['config', 'config.worktree']) {
    try {
      const text = tree.read(`${content}/.git/${name}`, { maxBytes: 2 ** 20, absolute: 'reject' }).toString()
      const named = /^\s*(?:\[[^\]]*\]\s*)?worktree\s*=\s*"?([^"\n]*)/im.exec(text)?.[1]?.trim()
      if (named !== undefined && !/^(?:\.\/)*\.\.\/?\.?$/.test(named)) return named.slice(0, 4096)
    } catch {
      // There is none, or nothing that could be read.
    }
  }
  return undefined
}
