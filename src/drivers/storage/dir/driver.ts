import { join } from 'node:path'
import type { Place, StorageCapabilities, StorageDriver } from '../../../ports/storage-driver.ts'
import { diffTrees, type Tree } from './diff.ts'
import { createFrom } from './create.ts'
import { eraseQuarantined, listQuarantined } from './store/damaged.ts'
import { freeze } from './snapshot.ts'
import { usageOfFrozen, verifyFrozen } from './store/inspect.ts'
import { type Manifest, readIfWhole, readManifest } from './store/manifest.ts'
import { readFrozenFile } from './store/scan/read-file.ts'
import { canMapIds } from '../../../sys/fs/file-system.ts'
import { dropFolderIndex, indexDirectory } from '../../../sys/trees/folder-index.ts'
import { readInTree } from '../../../sys/trees/read.ts'
import { resumeRestore, restoreVolume } from './restore.ts'
import { openStore } from './store/store.ts'
import { measureTree } from '../../../sys/safe-fs/index.ts'
import {
  assertRoot,
  fileExists,
  freeIn,
  initRoot,
  listAreas,
  makeTree,
  moveTree,
  probeRoot,
  syncTree,
  treeExists,
} from '../root/root.ts'
import { syncFiles } from '../../../sys/trees/sync.ts'
import { eraseFrozen, eraseTree } from './erase.ts'
import { importSnapshot } from './import.ts'
import { assertImportOptions, importFolder, importTree } from '../root/import.ts'
import {
  areas,
  isFrozen,
  limitsUnsupported,
  placeTaken,
  reachedOnHost,
  treeMissing,
  type TreeRootOptions,
} from '../root/tree-root.ts'

const capabilities: Omit<StorageCapabilities, 'idmap'> = {
  visibility: 'host',
  reflink: 'probed',
  needsRoot: false,
  snapshot: 'changes',
  fork: 'linear',
  diff: 'linear',
  live: 'fuzzy',
  remounts: false,
  restore: 'in place',
  hardlinks: true,
  dirRename: true,
  quota: 'none',
  measures: true,
  unfaithful: [
    { what: 'devices, in a tree made from a snapshot by an ordinary user', why: 'only root may make a device' },
    { what: 'owners, in a tree made from a snapshot by an ordinary user', why: 'only root may give a file away' },
    {
      what: 'attributes under security., except file capabilities',
      why: "they are the machine's, not the tree's",
    },
    {
      what: 'extended attributes, pipes, sockets and nanoseconds, where system calls cannot be made',
      why: 'Node has no call for them',
    },
  ],
}

/**
 * Trees as plain directories: works on every file system and for every user; a copy costs what it copies. A frozen tree
 * is a manifest, `snapshots/<id>`, and the contents of its files are in a store beside the areas; see
 * `docs/spec/content-store.md`.
 */
export function dirStorage(options: TreeRootOptions): StorageDriver {
  const { root, claim, owner, shortLived = false } = options
  const path = (place: Place): string => join(root, place.area, place.name)
  const directories = [...areas, indexDirectory]
  const guarded = [...(options.guarded ?? []), root, ...directories.map((name) => join(root, name))]
  const key = initRoot(root, directories, claim)
  const store = openStore(root)
  const frozenAreas = [join(root, 'snapshots'), join(root, 'bases')]

  const manifest = (place: Place): Manifest => {
    const found = isFrozen(place) ? readManifest(path(place)) : undefined
    if (found === undefined) throw treeMissing(place)
    return found
  }
  const exists = (place: Place): boolean => (isFrozen(place) ? fileExists(path(place)) : treeExists(path(place)))
  const assertThere = (place: Place): void => {
    if (!exists(place)) throw treeMissing(place)
  }
  /** Undefined if there is no such snapshot, or it is damaged: then nobody knows how much has changed. */
  const sinceOf = (since: Place | undefined): Manifest | undefined =>
    since === undefined ? undefined : readIfWhole(path(since))

  return {
    name: 'dir',
    capabilities: {
      ...capabilities,
      owner,
      get idmap() {
        return canMapIds(root)
      },
    },

    probe: async () => probeRoot(root, key),

    async create(place, { mode = 0o755, from, maxBytes, after, ...making } = {}) {
      await after
      assertRoot(root, key)
      if (maxBytes !== undefined) throw limitsUnsupported('dir')
      if (from === undefined) makeTree(path(place), mode, owner)
      else {
        const wanted = manifest(from)
        if (exists(place)) throw placeTaken(place)
        await createFrom(store, wanted, path(place), making)
      }
      return { durable: Promise.resolve() }
    },

    async import(place, source, importing) {
      assertRoot(root, key)
      assertImportOptions(source, importing, (base) => fileExists(path(base)))
      if (isFrozen(place) || !treeExists(path(place))) throw treeMissing(place)
      if ('folder' in source) return importFolder({ root, guarded }, path(place), source.folder, importing)
      const from = { tree: path(source.place), path: source.path, where: 'anywhere' as const }
      if (isFrozen(source.place)) return importSnapshot(store, path(place), from, importing)
      return importTree({ guarded }, path(place), from, importing)
    },

    async snapshot(volume, into, { since, after, ...freezing } = {}) {
      await after
      assertRoot(root, key)
      assertThere(volume)
      const { mechanism, consistency, changed } = await freeze(store, path(volume), path(into), {
        ...freezing,
        // Whoever builds a tree there has nobody beside them.
        still: freezing.listed && volume.area === 'tmp',
        since: sinceOf(since),
      })
      return { mechanism, consistency, changed }
    },

    async restore(volume, to, keep, { resume, since, ...restoring } = {}) {
      assertRoot(root, key)
      assertThere(volume)
      if (resume === undefined) assertThere(to)
      const files = {
        volume: path(volume),
        to: path(to),
        keep: path(keep),
        resume: resume && path(resume),
      }
      if (resume === undefined) return restoreVolume(store, files, { ...restoring, since: sinceOf(since) })
      const finished = await resumeRestore(store, files, restoring)
      if (finished === undefined) await eraseFrozen(store, path(keep), frozenAreas)
      return finished
    },

    async *diff(from, to, options) {
      assertRoot(root, key)
      assertThere(from)
      assertThere(to)
      const treeAt = (place: Place): Tree => ({
        path: path(place),
        manifest: isFrozen(place) ? manifest(place) : undefined,
      })
      yield* await diffTrees(store, treeAt(from), treeAt(to), options)
    },

    async read(place, name, options) {
      assertRoot(root, key)
      assertThere(place)
      return isFrozen(place)
        ? readFrozenFile(store, manifest(place), name, options)
        : readInTree(path(place), name, options)
    },

    async verify(snapshot, { signal } = {}) {
      assertRoot(root, key)
      const verified = await verifyFrozen(store, path(snapshot), signal)
      if (verified === undefined) throw treeMissing(snapshot)
      return verified
    },

    async move(from, to, { later } = {}) {
      assertRoot(root, key)
      if (await moveTree(path(from), path(to), { alone: shortLived, later })) return
      throw treeMissing(from)
    },

    async sync(place, { small = false } = {}) {
      assertRoot(root, key)
      if (small) await syncFiles(path(place), { fresh: true })
      else await syncTree(path(place))
    },

    async erase(place, options) {
      assertRoot(root, key)
      if (place.area === 'bases') dropFolderIndex(root, place.name)
      if (isFrozen(place)) await eraseFrozen(store, path(place), frozenAreas, options)
      else await eraseTree(store, place, options)
    },

    attachment: (place) => ({ kind: 'dir', path: path(place) }),

    async ready() {},

    reach: async (place) => reachedOnHost(path(place)),

    async exists(place) {
      assertRoot(root, key)
      return exists(place)
    },

    async usage(place, usage = {}) {
      assertRoot(root, key)
      assertThere(place)
      if (!isFrozen(place)) {
        const measured = await measureTree(path(place), usage)
        // Blocks that are shared with a source or with a content cannot be told from others.
        return { ...measured, ...(usage.own && { own: null }), ...(usage.beyond && { beyond: null }) }
      }
      const found = await usageOfFrozen(store, { file: path(place), areas: frozenAreas }, usage)
      if (found === undefined) throw treeMissing(place)
      return found
    },

    growing: async (place) => ({ paths: [path(place)], whole: true }),

    async list() {
      assertRoot(root, key)
      return listAreas(root, areas) as Place[]
    },

    damaged: {
      async list() {
        assertRoot(root, key)
        return listQuarantined(root)
      },
      async erase(name) {
        assertRoot(root, key)
        eraseQuarantined(root, name)
      },
    },

    async limit() {
      throw limitsUnsupported('dir')
    },

    room: async () => null,

    async free() {
      assertRoot(root, key)
      return freeIn(root)
    },

    async [Symbol.asyncDispose]() {},
  }
}
