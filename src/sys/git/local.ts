import * as fs from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { hasCode } from '../syscalls/errno.ts'
import { openFolder, type Folder } from './folder.ts'

/**
 * A repository of this machine, open for reading, by its path: with a work tree, bare, or a linked work tree. Its
 * configuration is never read, neither by us nor by git, so nothing that it names runs or is looked at.
 */
export interface LocalRepository extends Disposable {
  /** Where HEAD is. */
  readonly git: Folder
  /** Where the refs and the objects are: another directory only for a linked work tree. */
  readonly common: Folder
  readonly objects: Folder
}

/** Where git finds its objects, when it is given the open directory. For questions about ids. */
export const objectsOf = ({ objects }: LocalRepository): { directory: string; files: number[] } => ({
  directory: '/proc/self/fd/3',
  files: [objects.fd],
})

/** Where it really is: of one with a work tree the top of that. As it was given if there is nothing. */
export function realPathOf(path: string): string {
  try {
    const real = fs.realpathSync.native(path)
    return basename(real) === '.git' ? dirname(real) : real
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG')) return path
    throw error
  }
}

/** `source_failed` if there is none, or one that would have us look elsewhere. */
export function openLocal(path: string): LocalRepository {
  try {
    const { git, common } = directoriesOf(fs.realpathSync.native(path))
    return openBoth(git, common, path)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) throw noRepository(path, 'there is no such directory')
    if (hasCode(error, 'EACCES', 'EPERM')) throw noRepository(path, 'you may not read it')
    throw error
  }
}

function openBoth(git: string, common: string, path: string): LocalRepository {
  const opened: Folder[] = []
  const close = (): void => {
    for (const folder of opened.toReversed()) folder[Symbol.dispose]()
  }
  const held = <F extends Folder | undefined>(folder: F): F => {
    if (folder !== undefined) opened.push(folder)
    return folder
  }
  try {
    const gitFolder = held(openFolder(git))
    const commonFolder = common === git ? gitFolder : held(openFolder(common))
    const objects = held(commonFolder.folder('objects'))
    if (objects === undefined || !gitFolder.has('HEAD')) throw noRepository(path, 'it is not a git repository')
    if (objects.has('info/alternates')) {
      throw new AwError('source_failed', `The repository ${path} borrows objects from another one`, {
        hint: 'Make it whole: in it run git repack -a -d, then remove .git/objects/info/alternates',
        data: { url: path },
      })
    }
    return { git: gitFolder, common: commonFolder, objects, [Symbol.dispose]: close }
  } catch (error) {
    close()
    throw error
  }
}

function directoriesOf(path: string): { git: string; common: string } {
  const inside = join(path, '.git')
  const found = fs.lstatSync(inside, { throwIfNoEntry: false })
  if (found === undefined) return { git: path, common: path }
  if (found.isDirectory()) return { git: inside, common: inside }
  if (found.isFile() && found.size < 8192) return linkedWorkTree(path)
  throw noRepository(path, 'its .git is neither a directory nor a file')
}

/**
 * A `.git` file can name any directory. It is believed if that one is the record of a linked work tree and names this
 * file in turn: then whoever owns the repository has made the work tree.
 */
function linkedWorkTree(path: string): { git: string; common: string } {
  using here = openFolder(path)
  const named = /^gitdir: (.+)$/m.exec(here.read('.git', 8192)?.toString() ?? '')?.[1]
  const git = named === undefined ? undefined : fs.realpathSync.native(resolve(path, named))
  if (git !== undefined && basename(dirname(git)) === 'worktrees') {
    using record = openFolder(git)
    const back = resolve(git, text(record.read('gitdir', 8192)))
    const common = dirname(dirname(git))
    const isOurs = basename(back) === '.git' && fs.realpathSync.native(dirname(back)) === path
    if (isOurs && resolve(git, text(record.read('commondir', 8192))) === common) return { git, common }
  }
  throw noRepository(path, 'its .git file names a directory that does not know of it', git)
}

const text = (content: Buffer | undefined): string => (content?.toString() ?? '').trim()

const noRepository = (path: string, why: string, other?: string): AwError =>
  new AwError('source_failed', `${path} cannot be used as a repository: ${why}`, {
    hint:
      other === undefined
        ? (insideOf(path) ?? 'Give the path of a git repository; a folder without one is used with --from')
        : `If that is the repository you mean, give its own path: ${other}`,
    data: { url: path },
  })

/** Who is in a directory of a work tree means the repository that it is of. */
function insideOf(path: string): string | undefined {
  for (let above = dirname(path); above !== dirname(above); above = dirname(above))
    if (fs.lstatSync(join(above, '.git'), { throwIfNoEntry: false }) !== undefined)
      return `It is a directory of the repository ${above}: give that path; or use what is in the directory alone with --from`
  return undefined
}
