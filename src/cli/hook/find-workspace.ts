import { lstatSync, realpathSync } from 'node:fs'
import { dirname, basename } from 'node:path'
import type { Outputs } from '../../api/table.ts'
import { toAwError } from '../../domain/errors.ts'
import { isWorkspaceId } from '../../domain/ids.ts'
import type { Manager } from '../../ports/manager.ts'

/** Which workspace a path of this machine means. */

export type View = Outputs['show']

/** The live one that a directory is in, or is. */
export async function workspaceContaining(manager: Manager, directory: string): Promise<View | undefined> {
  const real = realPath(directory)
  if (real === undefined) return undefined
  for (const above of upward(real)) {
    const found = await shown(manager, basename(above))
    // The name of a directory is anybody's word: the workspace must be there.
    if (found !== undefined && realPath(found.path) === above) return found
  }
  return undefined
}

/** Of a path where nothing is any more: the one whose tree was there. */
export async function workspaceFormerlyAt(manager: Manager, path: string): Promise<View | undefined> {
  for (const above of upward(path)) {
    const found = await shown(manager, basename(above))
    if (found !== undefined) return found
  }
  const all = await manager.call('list', { all: true })
  return all.findLast((workspace) => workspace.path === path)
}

export const pathExists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Undefined if there is nothing, or nothing that may be looked at. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

const upward = (path: string): string[] => (dirname(path) === path ? [] : [path, ...upward(dirname(path))])

async function shown(manager: Manager, id: string): Promise<View | undefined> {
  if (!isWorkspaceId(id)) return undefined
  try {
    return await manager.call('show', { id })
  } catch (error) {
    if (toAwError(error).code === 'workspace_not_found') return undefined
    throw error
  }
}
