import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from '../../../sys/fs/directories.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { replaceFile } from '../../../sys/git/layout.ts'
import { packNames, recordOf, recordPath, type Mirror } from './mirror.ts'
import { formatPackedRefs, type Refs } from '../../../sys/git/refs.ts'

/** What a fetch into a new repository has brought. */
export interface FetchedRefs {
  /** All that the mirror has from now on. */
  readonly refs: Refs
  /** The new packs hold everything: those of before can go. */
  readonly everything?: boolean
}

/** The new repository becomes the mirror, in one step. */
export function installMirror(fresh: string, mirror: Mirror, refs: Refs, url: string): void {
  replaceFile(join(fresh, 'packed-refs'), formatPackedRefs(refs))
  replaceFile(recordPath(fresh), recordOf(url))
  syncPath(fresh)
  hostFs.renameSync(fresh, mirror.path)
  syncPath(dirname(mirror.path))
}

/**
 * Moves what came into the mirror: packs, each before its index, which makes it count; then what is cut off; then the
 * refs. Stopped in between, the mirror is what it was, with objects that nothing leads to yet.
 */
export function mergeIntoMirror(fresh: string, { path }: Mirror, { refs, everything = false }: FetchedRefs): void {
  const [from, to] = [join(fresh, 'objects/pack'), join(path, 'objects/pack')]
  const before = packNames(path)
  const names = readdirSync(from).filter((name) => /^pack-[0-9a-f]+\.[a-z]+$/.test(name))
  const inOrder = names.toSorted((a, b) => Number(a.endsWith('.idx')) - Number(b.endsWith('.idx')))
  for (const name of inOrder) hostFs.renameSync(join(from, name), join(to, name))
  syncPath(to)
  const cuts = readIfPresent(join(fresh, 'shallow'))
  if (cuts !== undefined && cuts !== readIfPresent(join(path, 'shallow'))) replaceFile(join(path, 'shallow'), cuts)
  const next = formatPackedRefs(refs)
  if (!next.equals(readFileSync(join(path, 'packed-refs')))) replaceFile(join(path, 'packed-refs'), next)
  syncPath(path)
  if (everything) dropPacks(to, new Set(before.filter((name) => !names.includes(`${name}.pack`))))
}

/** The index first: without it a pack does not count. */
function dropPacks(directory: string, packs: ReadonlySet<string>): void {
  const files = readdirSync(directory).filter((name) => packs.has(name.replace(/\.[a-z]+$/, '')))
  for (const name of files.toSorted((a) => (a.endsWith('.idx') ? -1 : 1))) hostFs.unlinkSync(join(directory, name))
}
