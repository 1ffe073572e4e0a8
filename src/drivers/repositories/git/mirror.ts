import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { isCommitId } from '../../../domain/git/ref.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { commitAt, type GitWork } from './checkout.ts'
import { openFolder } from '../../../sys/git/folder.ts'
import { packsIn } from './objects.ts'
import { readRefs, type Refs } from '../../../sys/git/refs.ts'
import { freshName } from './scratch.ts'

/**
 * The cache of one remote repository: a bare repository that only we write to. Git fetches into a new one beside it;
 * what came is then moved over, objects first, so that it is whole at every moment. One holds single commits without
 * their history, another everything.
 */
export interface Mirror {
  readonly name: string
  readonly path: string
}

export type MirrorKind = 'shallow' | 'full'

/** @param url without credentials */
export function mirrorOf(root: string, url: string, kind: MirrorKind): Mirror {
  const hash = createHash('sha256').update(url).digest('hex').slice(0, 20)
  const last =
    url
      .replace(/\.git$/, '')
      .split(/[/:]/)
      .at(-1) ?? ''
  const word =
    last
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .slice(0, 40)
      .replaceAll(/^-|-$/g, '') || 'repository'
  const name = `${word}-${hash}-${kind}`
  return { name, path: join(root, name) }
}

export const isMirrorName = (name: string): boolean => /^[a-z0-9-]{1,41}-[0-9a-f]{20}-(?:shallow|full)$/.test(name)

/** The file that says whose cache it is; it was used last when it was changed last. */
const record = 'aw.json'

export const recordOf = (url: string): string => `${JSON.stringify({ version: 1, url })}\n`

/** Undefined if there is no mirror, or none that is one. */
export function mirrorFacts(path: string): { url: string; usedAt: Date } | undefined {
  const text = readIfPresent(join(path, record))
  if (text === undefined) return undefined
  try {
    const { version, url } = JSON.parse(text) as { version?: unknown; url?: unknown }
    if (version !== 1 || typeof url !== 'string') return undefined
    return { url, usedAt: fs.statSync(join(path, record)).mtime }
  } catch {
    return undefined
  }
}

export const recordPath = (path: string): string => join(path, record)

export function markUsed(path: string, now: Date): void {
  hostFs.utimesSync(recordPath(path), now, now)
}

/** Whether everything is there that was put there. What is in the middle of a file is not looked at. */
export function isIntact({ path }: Mirror): boolean {
  if (mirrorFacts(path) === undefined || !['HEAD', 'packed-refs'].every((name) => fs.existsSync(join(path, name)))) {
    return false
  }
  try {
    const packs = packNames(path)
    return packs.length > 0 && packs.every((name) => isWholePack(join(path, 'objects/pack', name)))
  } catch {
    return false
  }
}

export function packNames(path: string): string[] {
  using objects = openFolder(join(path, 'objects'))
  return packsIn(objects)
}

export const packCount = ({ path }: Mirror): number => packNames(path).length

/** The checksum at the end of a pack is repeated in its index, before the index's own. */
function isWholePack(base: string): boolean {
  const [pack, index] = [tailOf(`${base}.pack`, 32), tailOf(`${base}.idx`, 64)]
  const idBytes = base.slice(base.lastIndexOf('-') + 1).length / 2
  const sum = pack.subarray(-idBytes)
  return sum.length === idBytes && sum.equals(index.subarray(-2 * idBytes, -idBytes))
}

function tailOf(path: string, length: number): Buffer {
  const fd = fs.openSync(path, 'r')
  try {
    const { size } = fs.fstatSync(fd)
    const tail = Buffer.alloc(Math.min(size, length))
    fs.readSync(fd, tail, 0, tail.length, size - tail.length)
    return tail
  } finally {
    fs.closeSync(fd)
  }
}

/** `refs/aw/` has the commits that were asked for by their ids. */
export function mirrorRefs({ path }: Mirror, prefixes = ['refs/heads/', 'refs/tags/', 'refs/aw/']): Refs {
  using folder = openFolder(path)
  return readRefs(folder, prefixes)
}

export const requestedRef = (commit: string): string => `refs/aw/${commit}`

/** Commits that have no parents here. */
export const shallowCommits = ({ path }: Mirror): string[] =>
  (readIfPresent(join(path, 'shallow')) ?? '').split('\n').filter(isCommitId)

/** A commit that no ref leads to directly is looked for by git. */
export async function hasCommit(mirror: Mirror, kind: MirrorKind, commit: string, work: GitWork): Promise<boolean> {
  const refs = mirrorRefs(mirror)
  if (refs.has(requestedRef(commit))) return true
  if (kind === 'shallow') return false
  if ([...refs].some(([name, { id }]) => name.startsWith('refs/heads/') && id === commit)) return true
  return (await commitAt(mirror.path, commit, work)) === commit
}

/** Takes it away in one step. Only by who has its lock alone. */
export async function discard(root: string, { name, path }: Mirror): Promise<void> {
  if (!fs.existsSync(path)) return
  const going = freshName(name)
  hostFs.renameSync(path, join(root, going))
  await removeTree(root, going)
}
