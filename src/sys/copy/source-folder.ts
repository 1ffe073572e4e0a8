import { type Dirent, readdirSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { errnoName } from '../../domain/errno.ts'
import { AwError } from '../../domain/errors.ts'

/**
 * A folder that can be copied into a workspace: it is one, and it is not a whole home or disk. Nor does it hold a
 * directory of aw's own, or lie in one: which it is, is asked of the directories themselves and not of their names, so
 * that neither a link nor a mount elsewhere makes it another. Answers its canonical path.
 */
export function assertSource(folder: string, guarded: readonly string[]): string {
  const real = realpathOf(folder)
  if (!statSync(real).isDirectory()) throw refused(folder, 'is not a directory', 'Give a directory')
  if (real === '/') throw refused(folder, 'is the whole machine', 'Give the folder of one project')
  if (ofKernel.has(statfsSync(real).type))
    throw refused(folder, 'shows what the kernel does, and holds no files', 'Give the folder of one project')
  const source = identityOf(real)
  if (identityIfPresent(homedir()) === source)
    throw refused(folder, 'is a whole home directory', 'Give the folder of one project')
  const present = guarded.filter((path) => identityIfPresent(path) !== undefined)
  const own = new Set(present.map(identityOf))
  const inside = upward(real).some((path) => own.has(identityOf(path)))
  const around = present.some((path) => upward(realpathOf(path)).some((above) => identityOf(above) === source))
  if (inside || around) {
    throw refused(folder, 'holds a directory of aw, or lies in one', 'Give a folder outside the home of aw')
  }
  return real
}

/** File systems whose files are made up as they are read: proc and sysfs. */
const ofKernel: ReadonlySet<number> = new Set([0x9fa0, 0x62656572])

/**
 * The directories of aw and the files right in them, as `device:inode`. None of these may be opened and closed again:
 * that gives up every lock that this process holds on the file, and the log and the locks rest on those.
 */
export function identitiesIn(guarded: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const add = (path: string): void => {
    const identity = identityIfPresent(path)
    if (identity !== undefined) found.add(identity)
  }
  for (const directory of guarded) {
    add(directory)
    for (const entry of entriesOf(directory)) if (entry.isFile()) add(join(directory, entry.name))
  }
  return found
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return [] // Not made yet, or not mounted.
  }
}

function identityOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true })
  return `${dev}:${ino}`
}

export function identityIfPresent(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.dev}:${stat.ino}`
}

/** A canonical path and all above it. */
export const upward = (path: string): string[] => (path === '/' ? [path] : [path, ...upward(dirname(path))])

export function realpathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const why = reasons[errnoName(error)]
    throw new AwError('source_failed', `The folder ${path.slice(0, 300)} cannot be read${why ? `: ${why}` : ''}`, {
      hint: 'Check that it exists and that you may read it; a repository is given with --repo, another workspace with --from-workspace',
      data: { folder: path, ...(['ENOENT', 'ENOTDIR'].includes(errnoName(error)) && { gone: true }) },
      cause: error,
    })
  }
}

const reasons: Readonly<Record<string, string>> = {
  ELOOP: 'links lead in a circle',
  ENAMETOOLONG: 'the path is too long',
}

const refused = (folder: string, why: string, hint: string): AwError =>
  new AwError('source_failed', `${folder} ${why}`, { hint, data: { folder } })
