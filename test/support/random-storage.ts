import fc from 'fast-check'
import { expect } from 'vitest'
import { toAwError } from '../../src/domain/errors.ts'
import type { Place } from '../../src/ports/storage-driver.ts'
import type { Edit } from './edits.ts'
import type { OpenStorage, StorageSubject } from '../contracts/storage.ts'
import { changes, treeAt, withoutRenames } from '../contracts/storage/trees.ts'
import type { Entry, Tree } from './tree.ts'

/** What may happen to the trees of a driver. Volumes and snapshots are told by number, whether they are there or not. */
type Step =
  | { readonly do: 'edit'; readonly volume: number; readonly edit: Edit }
  | { readonly do: 'create' | 'erase volume'; readonly volume: number }
  | { readonly do: 'snapshot'; readonly volume: number; readonly into: number; readonly since: number }
  | { readonly do: 'fork'; readonly volume: number; readonly from: number }
  | {
      readonly do: 'restore'
      readonly volume: number
      readonly to: number
      readonly keep: number
      readonly since: number
    }
  | { readonly do: 'erase snapshot'; readonly snapshot: number }
  | {
      readonly do: 'import'
      readonly volume: number
      readonly from: number
      readonly path: string
      readonly into: string
    }
  | { readonly do: 'import folder'; readonly volume: number; readonly into: string }

const volumeAt = (number: number): Place => ({ area: 'volumes', name: `ws_${number}` })
const snapshotAt = (number: number): Place => ({ area: 'snapshots', name: `sn_${number}` })

const name = fc.constantFrom('a', 'b', 'i', '\xff')
const path = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 2, arbitrary: fc.tuple(name, name).map((names) => names.join('/')) },
  { weight: 1, arbitrary: fc.tuple(name, name, name).map((names) => names.join('/')) },
)
const content = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.nat(9).map((digit) => `${digit}`.repeat(5000)),
)
// The owner can always read and write: what he may not is told by the suite about fidelity.
const mode = fc.constantFrom(0o700, 0o755, 0o750, 0o711)

/** Something that may or may not be possible, with few names, so that most of it meets something. */
export const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('write' as const, 'append' as const), path, content }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forge' as const), path, content: fc.constantFrom('x', 'yy') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('truncate' as const), path, size: fc.nat(9000) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('mkdir' as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), path }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('rename' as const, 'link' as const), path, to: path }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('symlink' as const), path, target: fc.constantFrom('a', '../..') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('chmod' as const), path, mode }) },
)

const volume = fc.nat(2)
const snapshot = fc.nat(4)
const into = fc.constantFrom('i', 'a/i', 'new/deep')

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 16, arbitrary: fc.record({ do: fc.constant('edit' as const), volume, edit }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('create' as const, 'erase volume' as const), volume }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('snapshot' as const), volume, into: snapshot, since: snapshot }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fork' as const), volume, from: snapshot }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('restore' as const),
      volume,
      to: snapshot,
      keep: snapshot,
      since: snapshot,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('erase snapshot' as const), snapshot }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('import' as const),
      volume,
      from: snapshot,
      path: fc.oneof(fc.constant('.'), path),
      into,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('import folder' as const), volume, into }) },
)

const folder: Tree = {
  a: { kind: 'directory', mode: 0o755 },
  'a/b': { kind: 'file', content: 'from a folder', mode: 0o644 },
  'a/c': { kind: 'hardlink', to: 'a/b' },
  l: { kind: 'symlink', target: 'a' },
}

/**
 * So many random lives of a driver's trees beside those of the oracle: after every step, both have the same trees, and
 * tell the same differences. The seed is printed, and AW_SEED repeats one. Answers how many steps there were.
 */
export async function compareStorage(
  open: OpenStorage,
  oracle: OpenStorage,
  { runs, maxSteps }: { runs: number; maxSteps: number },
): Promise<number> {
  const seed = Number(process.env['AW_SEED'] ?? Date.now() % 1_000_000)
  console.log(`AW_SEED=${seed}: ${runs} runs of up to ${maxSteps} steps`)
  let taken = 0
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: maxSteps }), async (steps) => {
    using one = await oracle()
    using other = await open()
    for (const subject of [one, other]) await subject.storage.create(volumeAt(0))
    for (const [i, each] of steps.entries()) {
      const [expected, found] = [await outcome(one, each), await outcome(other, each)]
      expect([i, each, found]).toEqual([i, each, expected])
      await compareTrees(one, other, each)
      taken += 1
    }
    await other.storage[Symbol.asyncDispose]()
  })
  await fc.assert(property, { seed, numRuns: runs, includeErrorInReport: true })
  return taken
}

async function outcome(subject: StorageSubject, step: Step): Promise<string> {
  try {
    await perform(subject, step)
    return 'ok'
  } catch (error) {
    // How the host refuses an edit is its own affair, and of two reasons a driver may tell either.
    const { code } = toAwError(error)
    return step.do === 'edit' || refusals.includes(code) ? 'refused' : `${code}: ${toAwError(error).message}`
  }
}

const refusals = ['file_exists', 'file_not_found', 'workspace_not_found', 'snapshot_not_found', 'source_failed']

async function perform(subject: StorageSubject, step: Step): Promise<unknown> {
  const { storage } = subject
  if (step.do === 'erase snapshot') return storage.erase(snapshotAt(step.snapshot))
  const place = volumeAt(step.volume)
  const isThere = await storage.exists(place)
  // What a copy does to files that are there already is not promised.
  if ('into' in step && typeof step.into === 'string' && (!isThere || hasPath(subject, place, step.into)))
    return undefined
  switch (step.do) {
    case 'edit':
      return isThere ? subject.edit(place, step.edit) : undefined
    case 'create':
      return storage.create(place)
    case 'erase volume':
      return storage.erase(place)
    case 'snapshot':
      return storage.snapshot(place, snapshotAt(step.into), { since: snapshotAt(step.since) })
    case 'fork':
      return storage.create(place, { from: snapshotAt(step.from) })
    case 'restore':
      return storage.restore(place, snapshotAt(step.to), snapshotAt(step.keep), { since: snapshotAt(step.since) })
    case 'import folder':
      return storage.import(place, { folder: subject.folder(folder) }, { into: step.into })
    default:
      return importPath(subject, place, step)
  }
}

async function importPath(subject: StorageSubject, place: Place, step: Step & { do: 'import' }): Promise<unknown> {
  const from = snapshotAt(step.from)
  const hasIt = step.path === '.' || !(await subject.storage.exists(from)) || step.path in (await treeAt(subject, from))
  // Whether a copy that is refused leaves the directory is not promised.
  return hasIt ? subject.storage.import(place, { place: from, path: step.path }, { into: step.into }) : undefined
}

/** The path, or something on the way to it that is no directory. */
function hasPath(subject: StorageSubject, place: Place, path: string): boolean {
  const tree = subject.read(place)
  const [first = ''] = path.split('/')
  return path in tree || (first in tree && tree[first]?.kind !== 'directory')
}

async function compareTrees(one: StorageSubject, other: StorageSubject, after: Step): Promise<void> {
  const places = await one.storage.list()
  expect(await other.storage.list()).toEqual(places)
  // An edit changes one tree; all the others are looked at after every other step.
  const changed = after.do === 'edit' ? places.filter(({ name: at }) => at === `ws_${after.volume}`) : places
  for (const place of changed) {
    const [expected, seen] = [await treeAt(one, place), await treeAt(other, place)]
    expect([place, timeless(seen)]).toEqual([place, timeless(expected)])
  }
  const [snapshots, volumes] = [places.filter(({ area }) => area === 'snapshots'), places.filter(isVolume)]
  for (const to of volumes) {
    for (const from of snapshots.slice(-2)) await compareChanges(one, other, from, to)
  }
  const [first, last] = [snapshots[0], snapshots.at(-1)]
  if (first !== undefined && last !== undefined) await compareChanges(one, other, first, last)
}

const isVolume = ({ area }: Place): boolean => area === 'volumes'

async function compareChanges(one: StorageSubject, other: StorageSubject, from: Place, to: Place): Promise<void> {
  const [expected, told] = [await changes(one, from, to), await changes(other, from, to)]
  expect(withoutRenames(told)).toEqual(withoutRenames(expected))
}

/** Times are those of the moment in which each of the two was written. */
const timeless = (tree: Tree): [string, Entry][] =>
  Object.entries(tree)
    .map(([at, entry]): [string, Entry] => [at, 'mtime' in entry ? withoutTime(entry) : entry])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))

function withoutTime<T extends Entry>({ ...entry }: T): T {
  Reflect.deleteProperty(entry, 'mtime')
  return entry
}
