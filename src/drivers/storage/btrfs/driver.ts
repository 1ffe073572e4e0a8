import type { StorageCapabilities, StorageDriver } from '../../../ports/storage-driver.ts'
import { canMapIds } from '../../../sys/fs/file-system.ts'
import { measureTree } from '../../../sys/safe-fs/index.ts'
import { readInTree } from '../../../sys/trees/read.ts'
import { assertImportOptions, importFolder, importTree } from '../root/import.ts'
import { moveTree } from '../root/root.ts'
import { reachedOnHost, treeMissing, treeRoot, type TreeRootOptions } from '../root/tree-root.ts'
import type { Context } from './context.ts'
import { assertLimits, canLimit, createTree } from './create.ts'
import { bytesBeyond, diffTrees } from './diff.ts'
import { eraseTree } from './erase.ts'
import { ownBytes, readAllFiles } from './kernel/files.ts'
import { limitGrowth, roomLeft } from './kernel/quota.ts'
import { commit, withSubvolume } from './kernel/subvolume.ts'
import { nestedIn } from './nested.ts'
import { probeBtrfs } from './probe.ts'
import { withReadableTrees, withWritableCopies } from './readable.ts'
import { restoreTree } from './restore.ts'
import { snapshotTree } from './snapshot.ts'
import { openWorkArea, workDirectory } from './work-area.ts'

const isRoot = process.getuid?.() === 0

const capabilities: Omit<StorageCapabilities, 'idmap'> = {
  visibility: 'host',
  reflink: 'always',
  needsRoot: false,
  snapshot: 'constant',
  fork: 'constant',
  diff: isRoot ? 'changes' : 'linear',
  live: 'fuzzy',
  remounts: false,
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

/** Trees as btrfs subvolumes: snapshots, forks and restores in one step, whatever their size, while others write. */
export function btrfsStorage(options: TreeRootOptions): StorageDriver {
  const trees = treeRoot(options, [workDirectory])
  const work = openWorkArea(options.root, options)
  const { path, found } = trees
  const context: Context = { root: options.root, owner: options.owner, trees, work }
  const assert = (): void => {
    trees.assert()
    work.busy()
  }
  return {
    name: 'btrfs',

    get capabilities() {
      const quota = canLimit(options.root) ? ('kernel' as const) : ('none' as const)
      return { ...capabilities, idmap: canMapIds(options.root), quota, owner: options.owner }
    },

    probe: () => probeBtrfs(trees, work),

    async create(place, { after, ...making } = {}) {
      await after
      assert()
      await createTree(context, place, making)
      return { durable: Promise.resolve() }
    },

    async import(place, source, options) {
      assert()
      assertImportOptions(source, options, trees.exists)
      const target = found(place)
      if ('folder' in source) return importFolder(trees, target, source.folder, options)
      const from = { tree: path(source.place), path: source.path, where: 'anywhere' as const }
      if (isRoot || !trees.exists(source.place)) return importTree(trees, target, from, options)
      return withWritableCopies(work, [from.tree], ([tree = from.tree]) =>
        importTree(trees, target, { ...from, tree }, options),
      )
    },

    async snapshot(volume, into, { after, ...freezing } = {}) {
      await after
      assert()
      return snapshotTree(context, volume, into, freezing)
    },

    async restore(volume, to, keep, options) {
      assert()
      return restoreTree(context, [volume, to, keep], options)
    },

    async *diff(from, to, options) {
      assert()
      yield* await diffTrees(context, from, to, options)
    },

    async read(place, file, options) {
      assert()
      return withReadableTrees(work, [found(place)], ([tree = '']) => readInTree(tree, file, options))
    },

    async verify(snapshot, { signal } = {}) {
      assert()
      return withReadableTrees(work, [found(snapshot)], ([tree = '']) => readAllFiles(tree, signal))
    },

    async move(from, to, { later } = {}) {
      assert()
      const how = { alone: options.shortLived, later }
      if (!(await moveTree(path(from), path(to), how))) throw treeMissing(from)
    },

    async sync(place) {
      assert()
      await commit(path(place))
    },

    async erase(place, erasing) {
      assert()
      await eraseTree(context, place, erasing)
    },

    attachment: (place) => ({ kind: 'dir', path: path(place) }),

    async ready() {},

    reach: async (place) => reachedOnHost(path(place)),

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
        ...(beyond && { beyond: await bytesBeyond(context, found(place), beyond) }),
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
