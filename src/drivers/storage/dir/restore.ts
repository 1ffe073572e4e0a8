import * as fs from 'node:fs'
import { basename, dirname } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { Exchanged, Frozen, RestoreOptions } from '../../../ports/storage-driver.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { runCancellable } from '../../../sys/trees/run-cancellable.ts'
import { applySteps } from './store/apply.ts'
import { diffManifests } from './store/scan/diff-manifests.ts'
import { freeze, type Freezing, scanEntries, scanVolume } from './snapshot.ts'
import { linesByPath, type Manifest, readIfWhole, readManifest } from './store/manifest.ts'
import { openObjects } from './store/objects.ts'
import { type Plan, planOf } from './store/plan.ts'
import { assertNothingLost, assertRestorable } from './store/preconditions.ts'
import { type Store, unlinkIfPresent } from './store/store.ts'

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

/**
 * Keeps what a volume is, then makes it equal to another frozen tree, in place. If that fails the volume becomes what it
 * was and nothing is kept, unless others have written to what was changed meanwhile: their work is for `resumeRestore` to
 * keep.
 */
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
  const change = changeTo(wanted, kept.entries, options)
  assertRestorable(store, kept.entries, change.plan)
  await writeJournal(store, files.volume, journal)
  let touched = false
  try {
    await apply(store, files.volume, kept.entries, change, () => (touched = true))
  } catch (error) {
    if (!touched || (await wentBack(store, files, wanted, options))) await forget(store, files)
    throw error
  }
  await writeJournal(store, files.volume, { ...journal, done: true })
  return journal.frozen
}

/**
 * After a crash. If this restore had begun to change the volume, the state it is found in becomes the snapshot `resume`
 * and the restore is finished; undefined if it had not. What cannot be finished goes back as far as it can, and the error
 * says why: all that was there is in `keep`, in `resume`, or still in the volume.
 */
export async function resumeRestore(store: Store, files: Restoring, options: Options): Promise<Exchanged | undefined> {
  const journal = readJournal(store, files.volume)
  if (journal === undefined || journal.keep !== basename(files.keep) || files.resume === undefined) {
    await assertUntouched(store, files, options)
    return undefined
  }
  if (journal.done) return withResumed(journal.frozen, files.resume)
  using _ = await store.enter(options.signal)
  try {
    // A crash may have come behind it too: then it is there, and others may have written since.
    const again = fs.existsSync(files.resume)
    const { entries } = again
      ? await scanEntries(store, files.volume, options)
      : await freeze(store, files.volume, files.resume, options)
    const wanted = manifestAt(files.to)
    const change = changeTo(wanted, entries, options)
    if (again) assertNothingLost(entries, change.plan, [wanted, ...[files.keep, files.resume].map(readIfWhole)])
    assertRestorable(store, entries, change.plan)
    await apply(store, files.volume, entries, change)
  } catch (error) {
    await wentBack(store, files, readIfWhole(files.to), options)
    throw error
  }
  await writeJournal(store, files.volume, { ...journal, done: true })
  return withResumed(journal.frozen, files.resume)
}

/** Whoever made `resume` may have died since: it tells itself what it is. */
function withResumed(frozen: Frozen, resume: string): Exchanged {
  const made = readIfWhole(resume)
  if (made === undefined) return frozen
  return { ...frozen, resumed: { mechanism: frozen.mechanism, consistency: made.consistency, changed: null } }
}

/** Without a journal nothing was changed, by us. What was kept goes only if the volume still is that. */
async function assertUntouched(store: Store, files: Restoring, options: Options): Promise<void> {
  const kept = readManifest(files.keep)
  if (kept === undefined) return
  const [first] = diffManifests(kept, await scanVolume(store, files.volume, options), options)
  if (first === undefined) return
  throw new AwError('workspace_active', 'The restore was interrupted, and the workspace was changed since', {
    hint: 'Restore it again',
    data: { path: first.path },
  })
}

/** Whether the volume is what was kept again. What is in no snapshot stays where it is. */
async function wentBack(
  store: Store,
  files: Restoring,
  wanted: Manifest | undefined,
  options: Options,
): Promise<boolean> {
  try {
    const kept = manifestAt(files.keep)
    const { entries } = await scanEntries(store, files.volume, { exclude: options.exclude })
    const change = changeTo(kept, entries, options)
    assertNothingLost(entries, change.plan, [
      kept,
      wanted,
      files.resume === undefined ? undefined : readIfWhole(files.resume),
    ])
    await apply(store, files.volume, entries, change)
    return true
  } catch {
    // The reason why it did not go forward is the one to tell.
    return false
  }
}

interface Change {
  readonly aims: ReadonlyMap<string, string>
  readonly plan: Plan
}

function changeTo(wanted: Manifest, entries: Freezing['entries'], { exclude = [] }: Options): Change {
  const aims = linesByPath(wanted)
  const isExcluded = (path: string): boolean => exclude.some((name) => path === name || path.startsWith(`${name}/`))
  if (exclude.length > 0) for (const path of aims.keys()) if (isExcluded(path)) aims.delete(path)
  return { aims, plan: planOf(entries, aims) }
}

async function apply(
  store: Store,
  volume: string,
  entries: Freezing['entries'],
  { aims, plan }: Change,
  onTouch?: () => void,
): Promise<void> {
  const top = fs.openSync(volume, directoryFlags)
  try {
    // From here on it is finished, whoever has gone: half a tree is nobody's wish.
    await runCancellable(applySteps(openObjects(store.root), top, entries, aims, plan, onTouch))
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
  const file = store.journalFile(volume)
  const temporary = store.stage(Buffer.from(JSON.stringify(journal)))
  await store.flushOnly([temporary])
  hostFs.renameSync(temporary, file)
  await store.flushOnly([dirname(file)])
}

/** The volume is what it was: no restore was begun, and what was kept for it is of no use. */
async function forget(store: Store, { volume, keep }: Restoring): Promise<void> {
  const journal = store.journalFile(volume)
  for (const file of [keep, journal]) {
    unlinkIfPresent(file)
    await store.flushOnly([dirname(file)])
  }
}

function readJournal(store: Store, volume: string): Journal | undefined {
  const text = readIfPresent(store.journalFile(volume))
  return text === undefined ? undefined : (JSON.parse(text) as Journal)
}
