import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { CachedRepository } from '../../../ports/repositories.ts'
import { ensureDirectory } from '../../../sys/fs/directories.ts'
import { tryLock } from '../../../sys/locks/lock.ts'
import { measureTree } from '../../../sys/safe-fs/index.ts'
import { discard, isMirrorName, mirrorFacts } from './mirror.ts'
import { lockFile, sweep } from './scratch.ts'

/** The mirrors below a directory, by their names. */
export async function listMirrors(root: string): Promise<CachedRepository[]> {
  if (!existsSync(root)) return []
  const found: CachedRepository[] = []
  for (const name of readdirSync(root).filter(isMirrorName).toSorted()) {
    const path = join(root, name)
    const facts = mirrorFacts(path)
    if (facts === undefined) continue
    const { bytes } = await measureTree(path)
    found.push({ name, url: facts.url, bytes, used_at: facts.usedAt.toISOString() })
  }
  return found
}

/** Removes one, and what a killed process has left of it. */
export async function removeMirror(root: string, name: string): Promise<void> {
  if (!isMirrorName(name)) {
    throw new AwError('invalid_input', `There is no cache with a name like ${JSON.stringify(name)}`, {
      hint: 'Take a name from the list of caches',
    })
  }
  if (!existsSync(root)) return
  ensureDirectory(join(root, 'locks'), 0o700)
  using alone = tryLock(lockFile(root, name))
  if (alone === undefined) {
    throw new AwError('workspace_busy', `The cache ${name} is in use`, { hint: 'Try again later', data: { name } })
  }
  await discard(root, { name, path: join(root, name) })
  await sweep(root, name)
}
