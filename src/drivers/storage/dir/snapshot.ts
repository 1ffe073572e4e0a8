import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { Frozen, SnapshotOptions } from '../../../ports/storage-driver.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { assertNoMountsIn, isHidden, mountsBelow } from '../../../sys/trees/mounts-in.ts'
import { canWriteOut, isOlderThanFlush, tracksMappedWrites } from '../../../sys/trees/write-out.ts'
import { countManifestDifferences } from './store/scan/diff-manifests.ts'
import { byPath, contentOfLine, pathOfLine } from './store/entry.ts'
import { formatManifest, type Manifest } from './store/manifest.ts'
import { hashContent } from './store/scan/read-entry.ts'
import { openObjects } from './store/objects.ts'
import { type Scanned, scanTree } from './store/scan/scan.ts'
import { type KnownEntry, noSweep, readIndex, type StatIndex, writeIndex } from './store/scan/stat-index.ts'
import type { Store } from './store/store.ts'

type Options = Pick<SnapshotOptions, 'exclude' | 'signal' | 'consistent' | 'listed' | 'onProgress'> & {
  /** What `changed` counts from. */
  readonly since?: Manifest | undefined
  /** What is mounted in it is told as it is seen; without it, such a tree is `workspace_active`. */
  readonly mounts?: boolean | undefined
  /** Nobody can write to it meanwhile: one look is enough. */
  readonly still?: boolean | undefined
  /** Whether no program helps to look; without it, that depends on how much there is. */
  readonly alone?: boolean | undefined
}

export interface Freezing extends Frozen {
  /** What the volume was, by path. */
  readonly entries: ReadonlyMap<string, KnownEntry>
}

/** Writes a volume into the store and its manifest to `file`. Durable when it resolves. */
export async function freeze(store: Store, volume: string, file: string, options: Options = {}): Promise<Freezing> {
  using _ = await store.enter(options.signal)
  if (fs.existsSync(file)) throw taken(file)
  const top = fs.openSync(volume, directoryFlags)
  try {
    const objects = openObjects(store.root)
    const { listed = false } = options
    const sweep = listed ? noSweep : store.sweep()
    const counted = counter(options)
    const known = (index: StatIndex): StatIndex['entries'] =>
      index.sweep === sweep || listed ? index.entries : onlyWith(index.entries, objects.all())
    const { scanned, flushedAt } = await scan(store, top, volume, options, {
      known,
      read: listed ? hashContent : (fd) => objects.put(fd),
      onRead: counted,
    })
    if ((options.consistent || listed) && !scanned.quiet) throw active(volume)
    const lines = [...scanned.entries.values()].map(({ line }) => line)
    const consistency = scanned.quiet ? 'atomic' : 'fuzzy'
    const manifest = store.stage(formatManifest({ consistency, lines, listed }))
    const settled = [...scanned.entries.values()].filter(
      ({ print }) => print !== '' && isOlderThanFlush(print, flushedAt),
    )
    // Bytes first, then names: a name that survives a power cut has its bytes, and a manifest its contents.
    await store.flushOnly([manifest, ...objects.pending()])
    const changedDirectories = objects.publish()
    hostFs.renameSync(manifest, file)
    await store.flushOnly([...changedDirectories, dirname(file)])
    // Last: what is remembered to be in the store must be there, whatever interrupts us.
    writeIndex(store.indexFile(top), store.incoming('index'), sweep, settled)
    const changed = options.since === undefined ? null : countManifestDifferences(options.since, { consistency, lines })
    return { mechanism: 'content store', consistency, changed, entries: scanned.entries }
  } finally {
    fs.closeSync(top)
  }
}

/** Bytes of an index: of some 500 things. */
const worthwhile = 128 * 1024

type VolumeScanOptions = Pick<Options, 'exclude' | 'signal' | 'mounts'>

/** What a volume is now, without keeping it. */
export async function scanVolume(store: Store, volume: string, options: VolumeScanOptions = {}): Promise<Manifest> {
  const { entries, quiet } = await scanEntries(store, volume, options)
  return { consistency: quiet ? 'atomic' : 'fuzzy', lines: [...entries.values()].map(({ line }) => line) }
}

/** The same, to be compared with a frozen tree: what is hidden by a mount is taken for what that has there. */
export async function scanForComparison(
  store: Store,
  volume: string,
  frozen: Manifest,
  options: Pick<VolumeScanOptions, 'exclude' | 'signal'>,
): Promise<Manifest> {
  const mounted = mountsBelow(volume, options)
  if (mounted.length === 0) return scanVolume(store, volume, options)
  const seen = await scanVolume(store, volume, { ...options, mounts: true })
  const hidden = new Map(
    frozen.lines.flatMap((line) => (isHidden(pathOfLine(line), mounted) ? [[pathOfLine(line), line]] : [])),
  )
  const lines = seen.lines.filter((line) => !hidden.has(pathOfLine(line)))
  return { ...seen, lines: [...lines, ...hidden.values()].sort((a, b) => byPath(pathOfLine(a), pathOfLine(b))) }
}

/** The same, by path and with what the kernel tells about each. */
export async function scanEntries(store: Store, volume: string, options: VolumeScanOptions = {}): Promise<Scanned> {
  const top = fs.openSync(volume, directoryFlags)
  try {
    return (await scan(store, top, volume, options, { known: ({ entries }) => entries, read: hashContent })).scanned
  } finally {
    fs.closeSync(top)
  }
}

interface ScanMode extends Pick<Parameters<typeof scanTree>[1], 'read' | 'onRead'> {
  /** What of an index can be relied on. */
  readonly known: (index: StatIndex) => StatIndex['entries']
}

async function scan(
  store: Store,
  top: number,
  volume: string,
  options: Options,
  { known: reliable, ...how }: ScanMode,
): Promise<{ scanned: Scanned; flushedAt: number }> {
  const flushedAt = Date.now()
  const index = store.indexFile(top)
  const remembered = tracksMappedWrites(volume) ? fs.statSync(index, { throwIfNoEntry: false }) : undefined
  const isKnown = remembered !== undefined
  const known = (): StatIndex['entries'] => (isKnown ? reliable(readIndex(index)) : new Map<string, KnownEntry>())
  // For a tree of which nothing is known, one flush costs less than one for each file. It waits for all writers, though.
  const writeOut = isKnown && canWriteOut(store.root)
  const { exclude, signal, still = false, mounts = false } = options
  // Where nobody writes, nothing can become dirty again without showing: there the flush need not come first.
  const flushed = writeOut ? undefined : store.flush()
  if (!still) await flushed
  const assertBare = (): void => void (mounts || assertNoMountsIn(top, options))
  assertBare()
  // A small tree is looked at sooner than a program is started, and of an unknown one all is read, which takes longer.
  const alone = mounts || (options.alone ?? (remembered?.size ?? 0) < worthwhile)
  const scanned = await scanTree(top, { ...how, known, flushedAt, writeOut, exclude, mounts, alone, still, signal })
  assertBare()
  await flushed
  return { scanned, flushedAt }
}

function onlyWith(
  known: ReadonlyMap<string, KnownEntry>,
  contents: ReadonlySet<string>,
): ReadonlyMap<string, KnownEntry> {
  const there = ({ line }: KnownEntry): boolean => contents.has(contentOfLine(line) ?? '')
  return new Map([...known].filter(([, entry]) => contentOfLine(entry.line) === undefined || there(entry)))
}

function counter({ onProgress }: Options): (bytes: number) => void {
  let [files, bytes] = [0, 0]
  return (more) => {
    files += 1
    bytes += more
    if (files % 100 === 0) onProgress?.({ files, bytes })
  }
}

const active = (volume: string): AwError =>
  new AwError('workspace_active', 'Something is being written to the workspace, so there is no one state to keep', {
    hint: 'Stop what runs in it, and try again; nothing was changed',
    data: { volume },
  })

const taken = (file: string): AwError =>
  new AwError('file_exists', `There is already a snapshot at ${file}`, { data: { path: file } })
