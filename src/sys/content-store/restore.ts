import * as fs from 'node:fs'
import { basename, dirname } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { Frozen, RestoreOptions } from '../../ports/storage-driver.ts'
import { readIfPresent } from '../durable-file.ts'
import { hostFs } from '../host-fs.ts'
import { directoryFlags } from '../safe-fs/descriptors.ts'
import { politely } from '../trees/politely.ts'
import { applySteps } from './apply.ts'
import { freeze, type Freezing } from './freeze.ts'
import { linesByPath, type Manifest, readManifest } from './manifest.ts'
import { openObjects } from './objects.ts'
import type { Store } from './store.ts'

/** The volume's directory, and the manifests. */
interface Restoring {
  readonly volume: string
  readonly to: string
  readonly keep: string
  readonly resume?: string | undefined
}

/**
 * What the last restore of a volume was about. It is there from before the first change; when all is done it says so, and
 * stays: whoever asks again after a crash must learn that the volume was changed and its old state is not to be dropped.
 */
interface Journal {
  /** Names, not paths: the root may be mounted elsewhere by then. */
  readonly keep: string
  readonly to: string
  readonly done: boolean
  readonly frozen: Frozen
}

type Options = Pick<RestoreOptions, 'exclude' | 'signal' | 'onProgress'> & { readonly since?: Manifest | undefined }

/** Keeps what a volume is, then makes it equal to another frozen tree, in place. */
export async function restoreVolume(store: Store, files: Restoring, options: Options): Promise<Frozen> {
  using _ = await store.enter(options.signal)
  const wanted = manifestAt(files.to)
  const kept = await freeze(store, files.volume, files.keep, { ...options, consistent: true })
  const { mechanism, consistency, changed } = kept
  const journal: Journal = {
    keep: basename(files.keep),
    to: basename(files.to),
    done: false,
    frozen: { mechanism, consistency, changed },
  }
  await writeJournal(store, files.volume, journal)
  await apply(store, files, kept, wanted, options)
  await writeJournal(store, files.volume, { ...journal, done: true })
  return journal.frozen
}

/**
 * After a crash. If this restore had begun to change the volume, the state it is found in becomes the snapshot `resume`
 * and the restore is finished; undefined if it had not.
 */
export async function resumeRestore(store: Store, files: Restoring, options: Options): Promise<Frozen | undefined> {
  const journal = readJournal(store, files.volume)
  if (journal === undefined || journal.keep !== basename(files.keep) || files.resume === undefined) return undefined
  if (journal.done) return journal.frozen
  using _ = await store.enter(options.signal)
  const wanted = manifestAt(files.to)
  // A crash may have come behind it too: then it is there, and others may have written since.
  const found = fs.existsSync(files.resume)
    ? await freeze(store, files.volume, store.incoming('found'), options)
    : await freeze(store, files.volume, files.resume, options)
  await apply(store, files, found, wanted, options)
  await writeJournal(store, files.volume, { ...journal, done: true })
  return journal.frozen
}

async function apply(
  store: Store,
  files: Restoring,
  found: Freezing,
  wanted: Manifest,
  options: Options,
): Promise<void> {
  const top = fs.openSync(files.volume, directoryFlags)
  try {
    const now = new Map([...found.entries].map(([path, { line }]) => [path, line]))
    const isExcluded = (path: string): boolean => options.exclude?.includes(path.split('/', 1)[0] ?? '') ?? false
    const aims = new Map([...linesByPath(wanted)].filter(([path]) => !isExcluded(path)))
    // From here on it is finished, whoever has gone: half a tree is nobody's wish.
    await politely(applySteps(openObjects(store.root), top, now, aims))
    await store.flush()
  } finally {
    fs.closeSync(top)
  }
}

function manifestAt(file: string): Manifest {
  const manifest = readManifest(file)
  if (manifest !== undefined) return manifest
  throw new AwError('snapshot_not_found', `There is no snapshot at ${file}`, { data: { path: file } })
}

async function writeJournal(store: Store, volume: string, journal: Journal): Promise<void> {
  const file = journalFile(store, volume)
  const temporary = store.stage(Buffer.from(JSON.stringify(journal)))
  await store.flushOnly([temporary])
  hostFs.renameSync(temporary, file)
  await store.flushOnly([dirname(file)])
}

function readJournal(store: Store, volume: string): Journal | undefined {
  const text = readIfPresent(journalFile(store, volume))
  return text === undefined ? undefined : (JSON.parse(text) as Journal)
}

function journalFile(store: Store, volume: string): string {
  const top = fs.openSync(volume, directoryFlags)
  try {
    return store.journalFile(top)
  } finally {
    fs.closeSync(top)
  }
}
