import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Frozen, Place, StorageCapabilities, StorageDriver } from '../../../ports/storage-driver.ts'
import { ownBytes, readAllFiles } from './kernel/files.ts'
import { limitGrowth, roomLeft } from './kernel/quota.ts'
import { commit, removeSubvolume, snapshotSubvolume, withSubvolume } from './kernel/subvolume.ts'
import { syncDirectoryLater } from '../../../sys/fs/directories.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { dropFolderIndex } from '../../../sys/trees/folder-index.ts'
import { canMapIds } from '../../../sys/fs/file-system.ts'
import { readInTree } from '../../../sys/trees/read.ts'
import { measureTree } from '../../../sys/safe-fs/index.ts'
import { moveTree } from '../root/root.ts'
import { bytesBeyond, countChanges, diffTrees } from './diff.ts'
import { freeze, written } from './freeze.ts'
import { assertLimits, buildTree, canLimit, makeEmpty, makeLimited } from './make.ts'
import { assertWhole, nestedIn } from './nested.ts'
import { probeBtrfs } from './probe.ts'
import { readable, thawed } from './readable.ts'
import { finishRestore, restoreTree } from './restore.ts'
import { openWork, workDirectory } from './work.ts'
import { importFolder } from '../root/import-folder.ts'
import { assertOptions } from '../root/import-options.ts'
import { importTree } from '../root/import-tree.ts'
import { missing, onHost, taken, treeRoot, type TreeRootOptions } from '../root/tree-root.ts'

const isRoot = process.getuid?.() === 0

const capabilities: Omit<StorageCapabilities, 'idmap'> = {
  visibility: 'host',
  reflink: 'always',
  needsRoot: false,
  snapshot: 'constant',
  fork: 'constant',
  diff: isRoot ? 'changes' : 'linear',
  live: 'fuzzy',
  restore: 'exchange',
  hardlinks: true,
  dirRename: true,
  quota: 'none',
  measures: true,
  unfaithful: [
    {
      what: 'btrfs subvolumes that are made inside a tree',
      why: 'a snapshot ends where another subvolume begins, and has an empty directory in its place',
    },
  ],
}

const frozen = (consistency: Frozen['consistency'], changed: number | null): Frozen => ({
  mechanism: 'btrfs snapshot',
  consistency,
  changed,
})

/** How often a snapshot of a tree that is being written to is tried. */
const attempts = 3

/** Trees as btrfs subvolumes: snapshots, forks and restores in one step, whatever their size, while others write. */
export function btrfsStorage(options: TreeRootOptions): StorageDriver {
  const trees = treeRoot(options, [workDirectory])
  const work = openWork(options.root, options)
  const { path, found } = trees
  const assert = (): void => {
    trees.assert()
    work.busy()
  }
  const free = async <T>(place: Place, make: () => Promise<T>): Promise<T> => {
    try {
      return await make()
    } catch (error) {
      throw hasCode(error, 'EEXIST') ? taken(place) : error
    }
  }
  /** Where there is little room left, what was erased is waited for, for a moment: btrfs gives it back commit by commit. */
  const givenBack = async (erased: string, before: number): Promise<void> => {
    for (let tries = 0; tries < 10; tries++) {
      await commit(erased)
      if (trees.free().bytes > before) return
      await sleep(100)
    }
  }
  const isScarce = (): boolean => {
    const { bytes, total } = trees.free()
    return bytes < total / 10
  }
  return {
    name: 'btrfs',

    get capabilities() {
      const quota = canLimit(options.root) ? ('kernel' as const) : ('none' as const)
      return { ...capabilities, idmap: canMapIds(options.root), quota, owner: options.owner }
    },

    probe: () => probeBtrfs(trees, work),

    async create(place, { mode = 0o755, from, maxBytes, after } = {}) {
      await after
      assert()
      trees.assertFree(place)
      const empty = { mode, owner: options.owner }
      if (maxBytes !== undefined) {
        assertLimits(options.root)
        const source = from === undefined ? empty : found(from)
        await buildTree(work, path(place), (unfinished) => makeLimited(unfinished, source, maxBytes))
      } else if (from === undefined) await buildTree(work, path(place), (unfinished) => makeEmpty(unfinished, empty))
      else {
        const source = found(from)
        await free(place, () => snapshotSubvolume(source, path(place), { readOnly: false }))
      }
      return { durable: Promise.resolve() }
    },

    async import(place, source, options) {
      assert()
      assertOptions(source, options, trees.exists)
      const target = found(place)
      if ('folder' in source) return importFolder(trees, target, source.folder, options)
      const from = { tree: path(source.place), path: source.path, where: 'anywhere' as const }
      if (isRoot || !trees.exists(source.place)) return importTree(trees, target, from, options)
      return thawed(work, [from.tree], ([tree = from.tree]) => importTree(trees, target, { ...from, tree }, options))
    },

    async snapshot(volume, into, { consistent = false, whole, since, exclude, after, signal } = {}) {
      await after
      assert()
      const source = found(volume)
      if (whole !== undefined) assertWhole(source, whole)
      const counted = () => countChanges({ trees, work }, since, into, { exclude, signal })
      const { consistency, seen } = await free(into, () => freeze(source, path(into), attempts, counted))
      if (consistency === 'fuzzy' && consistent) {
        await removeSubvolume(path(into))
        throw written(volume)
      }
      const left_out = nestedIn(source)
      return { ...frozen(consistency, seen), ...(left_out.length > 0 && { left_out }) }
    },

    async restore(volume, to, keep, { resume, since, exclude, maxBytes, signal } = {}) {
      assert()
      if (resume === undefined) await restoreTree({ trees, work, volume, keep }, to, maxBytes)
      else if (!(await finishRestore({ trees, work, volume, keep }))) return undefined
      return frozen('atomic', await countChanges({ trees, work }, since, keep, { exclude, signal }))
    },

    async *diff(from, to, options = {}) {
      assert()
      yield* await diffTrees({ trees, work }, [from, to], options)
    },

    async read(place, file, options) {
      assert()
      return readable(work, [found(place)], ([tree = '']) => readInTree(tree, file, options))
    },

    async verify(snapshot, { signal } = {}) {
      assert()
      return readable(work, [found(snapshot)], ([tree = '']) => readAllFiles(tree, signal))
    },

    async move(from, to, { later } = {}) {
      assert()
      const how = { alone: options.shortLived, later }
      if (!(await moveTree(path(from), path(to), how))) throw missing(from)
    },

    async sync(place) {
      assert()
      await commit(path(place))
    },

    async erase(place, { signal, more = false } = {}) {
      assert()
      const before = trees.free().bytes
      if (place.area === 'bases') dropFolderIndex(options.root, place.name)
      await removeSubvolume(path(place), { signal })
      if (more) return
      // The log may be flushed without the transaction that removes it: then it would be back after a power cut.
      if (isScarce()) await givenBack(path(place), before)
      else if (place.area !== 'tmp') await syncDirectoryLater(dirname(path(place)))
      await work.sweep(signal)
    },

    attachment: (place) => ({ kind: 'dir', path: path(place) }),

    async ready() {},

    reach: async (place) => onHost(path(place)),

    async exists(place) {
      assert()
      return trees.exists(place)
    },

    async unheld(place) {
      assert()
      return nestedIn(found(place))
    },

    async usage(place, { own = false, beyond, ...limits } = {}) {
      assert()
      const size = await measureTree(found(place), limits)
      // Another operation may have moved the tree since.
      return {
        ...size,
        ...(own && { own: await ownBytes(found(place), limits.maxFiles) }),
        ...(beyond && { beyond: await bytesBeyond({ trees, work }, found(place), beyond) }),
      }
    },

    growing: async (place) => ({ paths: [found(place)], whole: true }),

    async list() {
      assert()
      return trees.list()
    },

    async limit(place, maxBytes) {
      assert()
      assertLimits(options.root)
      withSubvolume(options.root, (by) => withSubvolume(found(place), (fd) => limitGrowth(fd, maxBytes, by)))
    },

    async room(place) {
      assert()
      return canLimit(options.root) ? withSubvolume(found(place), roomLeft) : null
    },

    async free() {
      assert()
      return trees.free()
    },

    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  }
}
