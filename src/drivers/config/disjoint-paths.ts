import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { canonical } from '../../sys/fs/canonical.ts'

export interface HomePaths {
  readonly home: string
  readonly basePath: string
  readonly storageRoot: string
  readonly archives: string
}

/**
 * Links to workspaces are made and removed in the base path, and directories there that are empty; trees are in the
 * storage root, and everything in its areas belongs to it. Neither may be where the other or the log is, nor where
 * archives are.
 */
export function assertDisjointPaths(places: HomePaths): void {
  const home = canonical(places.home)
  const base = canonical(places.basePath)
  const storage = canonical(places.storageRoot)
  const [locks, texts, log] = ['locks', 'texts', 'log.db'].map((name) => join(home, name)) as [string, string, string]

  const refuse = (key: string, value: string, why: string): never => {
    throw new AwError('invalid_config', `${key} is ${value}: ${why}`, {
      hint: 'Choose a directory of its own, inside the home or elsewhere',
      data: { key },
    })
  }
  if (within(home, storage)) refuse('storage.root', places.storageRoot, 'that is the home, or holds it')
  for (const place of [locks, texts])
    if (within(storage, place)) refuse('storage.root', places.storageRoot, `aw keeps other things in ${place}`)
  for (const place of [storage, locks, texts])
    if (within(base, place)) refuse('workspaces.base_path', places.basePath, `aw keeps other things in ${place}`)
  for (const place of [log, storage])
    if (within(place, base)) refuse('workspaces.base_path', places.basePath, `${place} is in it`)
  const archives = canonical(places.archives)
  for (const place of [storage, base, locks, texts])
    if (within(archives, place) || within(place, archives))
      refuse('archive.directory', places.archives, `aw keeps other things in ${place}`)
}

const within = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`)
