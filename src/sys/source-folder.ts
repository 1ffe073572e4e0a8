import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { AwError } from '../domain/errors.ts'

/** A folder that can be copied into a workspace: it is one, and it is not a whole home, disk or store. */
export function assertSource(folder: string, store: string): void {
  const real = realpathOf(folder)
  if (!statSync(real).isDirectory()) throw refused(folder, 'is not a directory', 'Give a directory')
  if (real === '/') throw refused(folder, 'is the whole machine', 'Give the folder of one project')
  if (real === realpathOf(homedir()))
    throw refused(folder, 'is a whole home directory', 'Give the folder of one project')
  const root = realpathOf(store)
  if (contains(real, root) || contains(root, real)) {
    throw refused(folder, 'holds the store of aw, or lies in it', 'Give a folder outside the home of aw')
  }
}

const contains = (outer: string, inner: string): boolean => inner === outer || inner.startsWith(`${outer}/`)

export function realpathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    throw new AwError('source_failed', `The folder ${path} cannot be read`, {
      hint: 'Check that it exists and that you may read it',
      data: { folder: path },
      cause: error,
    })
  }
}

const refused = (folder: string, why: string, hint: string): AwError =>
  new AwError('source_failed', `${folder} ${why}`, { hint, data: { folder } })
