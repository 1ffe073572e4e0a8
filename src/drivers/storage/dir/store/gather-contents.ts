import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import { quotePath } from '../../../../domain/paths.ts'
import type { ContentFolder } from '../../../../ports/storage-driver.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { directoryFlags, readFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { removeTree } from '../../../../sys/safe-fs/index.ts'
import { openFrom } from '../../../../sys/safe-fs/directory-stack.ts'
import { type Coroutine, runToCompletion } from '../../../../sys/safe-fs/coroutine.ts'
import { hashSteps } from '../../../../sys/trees/content-hash.ts'
import { atBytes, nodeName } from '../../../../sys/trees/names.ts'
import { runCancellable } from '../../../../sys/trees/run-cancellable.ts'
import { kindOf, sizeIn, statEntry } from '../../../../sys/trees/stat.ts'
import { contentOfLine, type Entry, parseEntry } from './entry.ts'
import type { Manifest } from './manifest.ts'
import { type Objects, objectsDirectory, openObjects } from './objects.ts'
import type { Store } from './store.ts'

/** A listed tree has no contents of its own. Some are in the store all the same, others may still be where they came from. */

type Wanted = Pick<Entry, 'path' | 'size' | 'content'>

export interface GatherOptions {
  readonly beside?: ContentFolder | undefined
  /** Told each file whose content is nowhere to be had; without it, such a file is an error. */
  readonly onMissing?: ((path: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

const notKept = (path: string): AwError =>
  new AwError('file_not_found', `The earlier content of ${quotePath(path)} was not kept`, {
    data: { path, reason: 'not_kept' },
  })

export interface GatheredContents extends AsyncDisposable {
  /** Where the `objects` are that the lines need. */
  readonly root: string
  readonly lines: Manifest['lines']
}

/**
 * What can be made of a manifest. The contents of a listed tree that the store does not hold are gathered for this one
 * use and go with it, or as anything else in `incoming` after a crash: no manifest refers to them, so in the store
 * nothing would ever remove them. Needs the lock of those who add to the store.
 */
export async function gatherContents(
  store: Store,
  { lines, listed }: Manifest,
  gathering: GatherOptions,
): Promise<GatheredContents> {
  const stored = openObjects(store.root)
  const there = listed ? stored.all() : undefined
  const wanted = lines.filter((line) => contentOfLine(line) !== undefined)
  if (there === undefined || wanted.every((line) => there.has(contentOfLine(line) ?? '')))
    return { root: store.root, lines, async [Symbol.asyncDispose]() {} }
  const root = store.incoming('contents')
  const remove = async (): Promise<void> => void (await removeTree(dirname(root), basename(root)))
  try {
    for (const directory of [root, join(root, objectsDirectory), join(root, 'incoming')])
      hostFs.mkdirSync(directory, 0o700)
    const lost = await gather(stored, openObjects(root), wanted.map(parseEntry), gathering)
    const left = lost.size === 0 ? lines : lines.filter((line) => !lost.has(parseEntry(line).path))
    return { root, lines: left, [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function gather(
  stored: Objects,
  objects: Objects,
  wanted: readonly Wanted[],
  { beside, onMissing, signal }: GatherOptions,
): Promise<Set<string>> {
  const missing = await runCancellable(takeIn(stored, objects, wanted, beside), signal)
  objects.publish()
  for (const { path } of missing) {
    if (onMissing === undefined) throw notKept(path)
    onMissing(path)
  }
  return new Set(missing.map(({ path }) => path))
}

/** Answers those that are neither in the store nor beside it any more. */
function* takeIn(
  stored: Objects,
  objects: Objects,
  wanted: readonly Wanted[],
  beside: ContentFolder | undefined,
): Coroutine<Wanted[]> {
  const missing: Wanted[] = []
  for (const entry of wanted) {
    yield
    if (objects.adopt(entry.content, stored.path(entry.content))) continue
    const fd = openFromFolder(entry, beside)
    try {
      if (fd === undefined || !(yield* hasContent(fd, entry))) missing.push(entry)
      else if ((yield* objects.put(fd)).content !== entry.content) missing.push(entry)
    } finally {
      if (fd !== undefined) fs.closeSync(fd)
    }
  }
  return missing
}

export function readFromFolder(entry: Wanted, beside: ContentFolder | undefined): Buffer {
  const fd = openFromFolder(entry, beside)
  if (fd === undefined) throw notKept(entry.path)
  try {
    const bytes = Buffer.alloc(entry.size)
    fs.readSync(fd, bytes, 0, bytes.length, 0)
    if (runToCompletion(hasContent(fd, entry))) return bytes
    throw notKept(entry.path)
  } finally {
    fs.closeSync(fd)
  }
}

function* hasContent(fd: number, { size, content }: Wanted): Coroutine<boolean> {
  const { hash, bytes } = yield* hashSteps(fd)
  return bytes === size && hash === content
}

/** It is somebody else's: no link is followed, nothing but a file is opened, and no mode is changed to read it. */
function openFromFolder({ path, size }: Wanted, beside: ContentFolder | undefined): number | undefined {
  const below = beside === undefined ? undefined : pathIn(path, beside.into)
  if (beside === undefined || below === undefined) return undefined
  const names = below.split('/')
  const name = names.pop() ?? ''
  const held: number[] = []
  try {
    const top = fs.openSync(beside.folder, directoryFlags)
    held.push(top)
    const directory = openFrom(top, names.map(nodeName))
    if (directory !== top) held.push(directory)
    const seen = statEntry(directory, name)
    if (seen === undefined || kindOf(seen.print) !== 'file' || sizeIn(seen.print) !== size) return undefined
    return fs.openSync(atBytes(directory, name), readFlags | fs.constants.O_NOFOLLOW)
  } catch {
    // Gone, changed, or not to be read any more: whatever it is, the content is not to be had there.
    return undefined
  } finally {
    for (const fd of held) fs.closeSync(fd)
  }
}

function pathIn(path: string, into: string): string | undefined {
  if (into === '.') return path
  return path.startsWith(`${into}/`) ? path.slice(into.length + 1) : undefined
}
