import { join } from 'node:path'
import type { Attachment, Place, StorageCapabilities, StorageDriver } from '../../../ports/storage-driver.ts'
import { verifyRecorded } from '../dir/store/verify-recorded.ts'
import { dropFolderIndex } from '../../../sys/trees/folder-index.ts'
import { mounts } from '../../../sys/fs/mounts.ts'
import { heldOverlays } from './kernel/holder.ts'
import { filesOf, initLayers, verifiedManifestPath, workOf } from './kernel/layers.ts'
import { isIdle, listSetAside } from './kernel/mount-point.ts'
import { probeOverlay } from './probe.ts'
import { listRecords, readRecord } from './kernel/records.ts'
import { readInTree } from '../../../sys/trees/read.ts'
import { measureTree } from '../../../sys/safe-fs/index.ts'
import { syncTree } from '../root/root.ts'
import { syncFiles } from '../../../sys/trees/sync.ts'
import { assertImportOptions, importFolder, importTree } from '../root/import.ts'
import {
  ensureMounted,
  explainMissingLayer,
  holdMounted,
  hostPath,
  isMountedArea,
  type Overlay,
  stackOf,
  upperOf,
  withView,
} from './context.ts'
import { diffTrees } from './diff.ts'
import { bytesBeyond, eraseTree, growingLayers, ownBytes } from './erase.ts'
import { createTree } from './create.ts'
import { moveTree } from './move.ts'
import { holdView } from './held-views.ts'
import { restoreTree } from './restore.ts'
import { snapshotTree } from './snapshot.ts'
import { areas, limitsUnsupported, treeMissing, treeRoot, type TreeRootOptions } from '../root/tree-root.ts'

const isRoot = process.getuid?.() === 0

/** In a user namespace the kernel can neither look up a file by its number nor trust a note of where it was. */
const withoutRoot = [
  { what: 'hard links', why: 'a file of a snapshot that is written to under one of its names becomes one of its own' },
  { what: 'renames of directories', why: 'one that came with a snapshot is refused (EXDEV): programs copy it instead' },
] as const

const capabilities: StorageCapabilities = {
  visibility: isRoot ? 'host' : 'sandbox',
  reflink: 'probed',
  needsRoot: false,
  snapshot: 'constant',
  fork: 'constant',
  diff: 'changes',
  live: 'fuzzy',
  remounts: true,
  restore: 'exchange',
  hardlinks: isRoot,
  dirRename: isRoot,
  // The kernel maps no ids of an overlay.
  idmap: false,
  quota: 'none',
  measures: true,
  unfaithful: [
    { what: 'inode numbers', why: 'a file of a snapshot that is written to becomes another file' },
    ...['trusted', 'user'].map((space) => ({
      what: `attributes named ${space}.overlay.*`,
      why: 'the kernel keeps its own notes under these names: in a layer they say what it shows, whoever has set them',
    })),
    { what: 'device number 0', why: 'the kernel marks with it what was removed, and lets nobody make one' },
    { what: 'mounts made inside a tree', why: 'a snapshot ends where another mount begins' },
    ...(isRoot ? [] : withoutRoot),
  ],
}

/**
 * Trees as overlay mounts: each has a layer of its own over layers that it shares with others and that nobody writes to
 * any more. A fork is a new layer, a snapshot of a tree that nobody uses is the old one. As root they are mounted on the
 * host; an ordinary user's are mounted by the sandboxes they are used in, and by this process while it looks into them.
 */
export function overlayStorage(options: TreeRootOptions): StorageDriver {
  const { root } = options
  const trees = treeRoot(options, ['records', 'layers', 'dead'])
  const overlay: Overlay = {
    root,
    mounts: isRoot,
    open: isRoot ? async (layers) => mounts.overlay(layers) : heldOverlays.open,
    owner: options.owner,
    patienceMs: options.patienceMs ?? 10_000,
    trees: {
      ...trees,
      exists: (place) => (place.area === 'found' ? trees.exists(place) : readRecord(root, place) !== undefined),
      found(place) {
        if (readRecord(root, place) === undefined) throw treeMissing(place)
        return trees.path(place)
      },
    },
  }
  let hasLayers = false
  const assert = (): void => {
    trees.assert()
    if (!hasLayers) initLayers(root)
    hasLayers = true
  }
  const view = <T>(place: Place, use: (tree: string) => Promise<T> | T): Promise<T> =>
    explainMissingLayer(overlay, [place], () => withView(overlay, place, use))
  return {
    name: 'overlay',
    capabilities: { ...capabilities, owner: options.owner },

    async probe() {
      try {
        trees.assert()
      } catch (error) {
        return { usable: false, reasons: [error instanceof Error ? error.message : String(error)] }
      }
      return probeOverlay(join(root, 'dead'))
    },

    async create(place, options = {}) {
      assert()
      return explainMissingLayer(overlay, [options.from], () => createTree(overlay, place, options))
    },

    async import(place, source, options) {
      assert()
      return view(place, (target) => {
        assertImportOptions(source, options, overlay.trees.exists)
        if ('folder' in source) return importFolder(trees, target, source.folder, options)
        const from = { tree: trees.path(source.place), path: source.path }
        if (readRecord(root, source.place) === undefined) return importTree(trees, target, from, options)
        return view(source.place, (tree) => importTree(trees, target, { ...from, tree }, options))
      })
    },

    async snapshot(volume, into, options) {
      assert()
      return explainMissingLayer(overlay, [volume], () => snapshotTree(overlay, volume, into, options))
    },

    async restore(volume, to, keep, options) {
      assert()
      return explainMissingLayer(overlay, [to, volume], () => restoreTree(overlay, [volume, to, keep], options))
    },

    async *diff(from, to, options) {
      assert()
      yield* await explainMissingLayer(overlay, [from, to], () => diffTrees(overlay, from, to, options))
    },

    async read(place, file, options) {
      assert()
      return view(place, (tree) => readInTree(tree, file, options))
    },

    async verify(snapshot, { signal } = {}) {
      assert()
      const recorded = verifiedManifestPath(root, upperOf(stackOf(overlay, snapshot)))
      return view(snapshot, (tree) => verifyRecorded(tree, recorded, signal))
    },

    async move(from, to, options) {
      assert()
      await moveTree(overlay, from, to, options)
    },

    async sync(place, { small = false } = {}) {
      assert()
      if (small && isRoot) await syncFiles(hostPath(overlay, place), { fresh: true })
      else await syncTree(hostPath(overlay, place))
    },

    async erase(place, options = {}) {
      assert()
      if (place.area === 'bases') dropFolderIndex(root, place.name)
      await eraseTree(overlay, place, options)
    },

    attachment: (place) => (isRoot ? { kind: 'dir', path: hostPath(overlay, place) } : layersOf(overlay, place)),

    async ready(place) {
      assert()
      await explainMissingLayer(overlay, [place], () => ensureMounted(overlay, place))
    },

    async reach(place) {
      assert()
      return explainMissingLayer(overlay, [place], () =>
        isRoot ? holdMounted(overlay, place) : holdView(overlay, place),
      )
    },

    async isIdle(place) {
      assert()
      if (!isRoot || !isMountedArea(place) || !isIdle(trees.path(place))) return false
      await ensureMounted(overlay, place)
      return true
    },

    async exists(place) {
      trees.assert()
      return overlay.trees.exists(place)
    },

    async usage(place, { own = false, beyond, ...limits } = {}) {
      assert()
      stackOf(overlay, place)
      const size = await view(place, (tree) => measureTree(tree, limits))
      return {
        ...size,
        ...(own && { own: await ownBytes(overlay, place, limits) }),
        ...(beyond && { beyond: await bytesBeyond(overlay, place, beyond) }),
      }
    },

    growing: (place, base) => growingLayers(overlay, place, base),

    async list() {
      trees.assert()
      const order = (place: Place): number => areas.indexOf(place.area)
      return [...listRecords(root).toSorted((a, b) => order(a) - order(b)), ...listSetAside(root)]
    },

    async limit() {
      throw limitsUnsupported('overlay')
    },

    room: async () => null,

    async free() {
      trees.assert()
      return trees.free()
    },

    async [Symbol.asyncDispose]() {},
  }
}

function layersOf({ root, trees }: Overlay, place: Place): Attachment {
  const [upper = '', ...lower] = readRecord(root, place) ?? []
  if (upper !== '' && lower.length === 0) return { kind: 'dir', path: filesOf(root, upper) }
  return {
    kind: 'overlay',
    path: trees.path(place),
    lower: lower.map((id) => filesOf(root, id)),
    upper: filesOf(root, upper),
    work: workOf(root, upper),
  }
}
