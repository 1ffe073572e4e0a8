import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { Area, Place, StorageCapabilities, StorageDriver } from '../../ports/storage-driver.ts'
import { copyTree } from '../../sys/copy-tree.ts'
import { assertSource, identitiesIn, realpathOf } from '../../sys/source-folder.ts'
import { measureTree, removeTree } from '../../sys/safe-fs/index.ts'
import {
  assertRoot,
  freeBytes,
  initRoot,
  listAreas,
  makeTree,
  moveTree,
  probeRoot,
  syncTree,
  treeExists,
} from '../../sys/storage-root.ts'
import { syncFiles } from '../../sys/sync-files.ts'

const areas: readonly Area[] = ['volumes', 'snapshots', 'bases', 'trash', 'tmp']

const later = (what: string): AwError => new AwError('unsupported', `dir: ${what} is not there yet`)

const capabilities: StorageCapabilities = {
  visibility: 'host',
  reflink: 'probed',
  needsRoot: false,
  snapshot: 'changes',
  fork: 'linear',
  diff: 'linear',
  live: 'fuzzy',
  restore: 'in place',
  quota: 'none',
  unfaithful: [],
}

interface DirOptions {
  readonly root: string
  readonly claim: string
  readonly guarded?: readonly string[] | undefined
  readonly shortLived?: boolean | undefined
}

/**
 * Trees as plain directories: works on every file system and for every user; a copy costs what it copies.
 * @param claim a file of the home that ties the root to it; see `initRoot`
 * @param guarded directories of aw that are no source, besides the root itself: a file right in one is never opened
 * @param shortLived the program does one thing and ends: it does without what takes long to load
 */
export function dirStorage(options: DirOptions): StorageDriver {
  const { root, claim, shortLived = false } = options
  const path = (place: Place): string => join(root, place.area, place.name)
  const guarded = [...(options.guarded ?? []), root, ...areas.map((area) => join(root, area))]
  const key = initRoot(root, areas, claim)
  return {
    name: 'dir',
    capabilities,

    probe: async () => probeRoot(root, key),

    async create(place, { mode = 0o755, from, maxBytes } = {}) {
      assertRoot(root, key)
      if (from !== undefined || maxBytes !== undefined) throw later('create from a snapshot')
      makeTree(path(place), mode)
    },

    async import(place, source, { into, signal, onProgress }) {
      assertRoot(root, key)
      if ('folder' in source) assertSource(source.folder, guarded)
      const folder = 'folder' in source ? realpathOf(source.folder) : path(source.place)
      if (!treeExists(path(place))) throw missing(place)
      if (!treeExists(folder)) throw new AwError('source_failed', `There is no tree ${folder}`, { data: { folder } })
      const target = into === '.' ? path(place) : join(path(place), into)
      const own = 'place' in source
      return copyTree(folder, target, { signal, onProgress, own, guarded: identitiesIn(guarded) })
    },

    snapshot: () => Promise.reject(later('snapshot')),
    restore: () => Promise.reject(later('restore')),
    diff: () => {
      throw later('diff')
    },
    read: () => Promise.reject(later('read')),
    verify: () => Promise.reject(later('verify')),

    async move(from, to) {
      assertRoot(root, key)
      if (moveTree(path(from), path(to), shortLived)) return
      throw missing(from)
    },

    async sync(place, { small = false } = {}) {
      assertRoot(root, key)
      if (small) await syncFiles(path(place), { fresh: true })
      else await syncTree(path(place))
    },

    async erase(place, options = {}) {
      assertRoot(root, key)
      await removeTree(join(root, place.area), place.name, options)
    },

    attachment: (place) => ({ kind: 'dir', path: path(place) }),

    async ready() {},

    async exists(place) {
      assertRoot(root, key)
      return treeExists(path(place))
    },

    async usage(place, options = {}) {
      assertRoot(root, key)
      if (!treeExists(path(place))) throw missing(place)
      return measureTree(path(place), options)
    },

    async list() {
      assertRoot(root, key)
      return listAreas(root, areas) as Place[]
    },

    async free() {
      assertRoot(root, key)
      return { bytes: freeBytes(root) }
    },

    async [Symbol.asyncDispose]() {},
  }
}

const missing = (place: Place): AwError =>
  new AwError('workspace_not_found', `There is no tree at ${place.area}/${place.name}`, { data: { place } })
