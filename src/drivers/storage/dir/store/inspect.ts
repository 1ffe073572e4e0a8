import * as fs from 'node:fs'
import { AwError } from '../../../../domain/errors.ts'
import type { Usage, UsageOptions, Verified } from '../../../../ports/storage-driver.ts'
import { readManifest, contentsOf, entriesOf, type Manifest } from './manifest.ts'
import { type Entry, isLinked } from './entry.ts'
import { openObjects } from './objects.ts'
import { runCancellable } from '../../../../sys/trees/run-cancellable.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { quarantine } from './damaged.ts'
import { manifestsIn } from './sweep.ts'
import type { Store } from './store.ts'
import { hardLinkKey } from './materialise.ts'

/** Hashes every content of a frozen tree again. One that is not what its name says is put aside. */
export async function verifyFrozen(store: Store, file: string, signal?: AbortSignal): Promise<Verified | undefined> {
  let manifest: Manifest | undefined
  try {
    manifest = readManifest(file)
  } catch (error) {
    if (!(error instanceof AwError)) throw error
    const message = `${error.message}; until it is removed, no space of removed snapshots is given back`
    return { method: 'hashes', files: 0, bytes: 0, problems: [{ path: '.', message }] }
  }
  if (manifest === undefined) return undefined
  if (manifest.listed)
    return {
      method: 'none',
      ...sizeOfFiles(distinct(entriesOf(manifest).filter(({ kind }) => kind === 'file'))),
      problems: [],
    }
  const damaged = new Map<string, number>()
  const verified = await runCancellable(verifySteps(store, manifest, damaged), signal)
  await quarantine(store, damaged, signal)
  return verified
}

function* verifySteps(store: Store, manifest: Manifest, damaged: Map<string, number>): Coroutine<Verified> {
  const objects = openObjects(store.root)
  const known = new Map<string, string | undefined>()
  const problems: { path: string; message: string }[] = []
  const files = entriesOf(manifest).filter(({ kind }) => kind === 'file')
  for (const { path, content, size } of files) {
    if (content === '') continue
    if (!known.has(content)) known.set(content, yield* objects.problem(content, size))
    const message = known.get(content)
    if (message !== undefined) {
      problems.push({ path, message })
      damaged.set(content, size)
    }
    yield
  }
  return { method: 'hashes', ...sizeOfFiles(distinct(files)), problems }
}

export const sizeOfFiles = (files: readonly Entry[]): { files: number; bytes: number } => ({
  files: files.length,
  bytes: files.reduce((sum, { size }) => sum + size, 0),
})

/** One with several names counts once. */
export function distinct(files: readonly Entry[]): Entry[] {
  const seen = new Set<string>()
  return files.filter((entry) => {
    const again = isLinked(entry) && seen.has(hardLinkKey(entry))
    if (isLinked(entry)) seen.add(hardLinkKey(entry))
    return !again
  })
}

/** @param areas the directories that hold all manifests of the store */
export async function usageOfFrozen(
  store: Store,
  { file, areas }: { file: string; areas: readonly string[] },
  { maxFiles = Infinity, own = false }: UsageOptions,
): Promise<Usage | undefined> {
  const manifest = readManifest(file)
  if (manifest === undefined) return undefined
  const all = distinct(entriesOf(manifest).filter(({ kind }) => kind === 'file'))
  const { files, bytes } = sizeOfFiles(all.slice(0, maxFiles))
  const usage = { files, bytes, complete: files < maxFiles }
  return own ? { ...usage, ...(await runCancellable(ownSteps(store, file, areas))) } : usage
}

/** What its contents take up that no other manifest refers to, and its part of those that others do refer to. */
function* ownSteps(store: Store, file: string, areas: readonly string[]): Coroutine<{ own: number; portion: number }> {
  const mine = contentsIn(file)
  const users = yield* usersOf(store, areas)
  const objects = openObjects(store.root)
  let own = 0
  let shared = 0
  for (const content of mine) {
    const bytes = bytesAt(objects.path(content))
    const count = users.get(content) ?? 1
    if (count === 1) own += bytes
    else shared += bytes / count
  }
  return { own, portion: own + Math.round(shared) }
}

const contentsIn = (file: string): Set<string> =>
  new Set(contentsOf(readManifest(file) ?? { consistency: 'atomic', lines: [] }))

type Users = ReadonlyMap<string, number>
const counted = new WeakMap<Store, { readonly manifests: string; readonly users: Users }>()

/**
 * How many manifests refer to each content. They never change, so that as long as there are the same ones this need not
 * be found out again: who asks about all of them in turn would read all of them each time.
 */
function* usersOf(store: Store, areas: readonly string[]): Coroutine<Users> {
  const files = [...manifestsIn(areas)]
  const manifests = files.join('\n')
  const known = counted.get(store)
  if (known?.manifests === manifests) return known.users
  const users = new Map<string, number>()
  for (const file of files) {
    for (const content of contentsIn(file)) users.set(content, (users.get(content) ?? 0) + 1)
    yield
  }
  counted.set(store, { manifests, users })
  return users
}

/** What is on the disk, not what holes say. */
function bytesAt(path: string): number {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined ? 0 : Math.min(stat.size, stat.blocks * 512)
}
