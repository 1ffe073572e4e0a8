import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { ensureDirectory } from '../../../sys/fs/directories.ts'
import { lock, tryLock, type HeldLock } from '../../../sys/locks/lock.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { makeRepository } from '../../../sys/git/layout.ts'

/**
 * The directory of the caches: each under its name, beside it `NAME.*.new` while it is made or changed, and the locks.
 * What is left of a process that was killed is removed by the next one that has the lock; a git that outlived it writes
 * to a name that nobody else uses.
 */

export interface LockWait {
  readonly signal?: AbortSignal | undefined
  readonly shared?: boolean | undefined
}

export async function lockName(root: string, name: string, { signal, shared }: LockWait = {}): Promise<HeldLock> {
  ensureDirectory(join(root, 'locks'), 0o700)
  const held = await lock(lockFile(root, name), { signal, shared, timeoutMs: longest })
  if (held !== undefined) return held
  throw new AwError('timeout', `Another process has kept the repository cache ${name} for too long`, {
    hint: 'See what git is doing there, then try again',
    data: { name },
  })
}

export const lockFile = (root: string, name: string): string => join(root, 'locks', `${name}.lock`)

const longest = 2 * 3_600_000

/** A new name beside that of a cache. */
export const freshName = (name: string): string => `${name}.${randomBytes(6).toString('hex')}.new`

/** Removes what was left behind, of this name, whose lock the caller has, and of others that nobody is busy with. */
export async function sweep(root: string, own: string): Promise<void> {
  for (const left of readdirSync(root).filter((name) => leftover.test(name))) {
    const name = left.replace(leftover, '')
    using alone = name === own ? undefined : tryLock(lockFile(root, name))
    if (name === own || alone !== undefined) await removeTree(root, left)
  }
}

const leftover = /\.[0-9a-f]{12}\.new$/

/** A repository without anything, for questions about objects elsewhere. */
export async function emptyRepository(root: string, sha256: boolean): Promise<string> {
  const name = sha256 ? 'empty-sha256' : 'empty'
  const path = join(root, name)
  if (existsSync(path)) return path
  using _held = await lockName(root, name)
  if (existsSync(path)) return path
  await sweep(root, name)
  const fresh = join(root, freshName(name))
  makeRepository(fresh, { head: 'refs/heads/main', sha256, bare: true, refs: new Map(), shallow: [] })
  hostFs.renameSync(fresh, path)
  return path
}
