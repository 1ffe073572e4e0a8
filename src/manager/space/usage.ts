import type { Inputs, Outputs } from '../../api/table.ts'
import { usedPercent } from '../../domain/space/watermarks.ts'
import { isLive, nameOf, type Source, type Workspace } from '../../domain/workspace/state.ts'
import type { Place, Usage } from '../../ports/storage-driver.ts'
import { basePlace, basesOf, usersOf } from '../sources/base-trees.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { snapshotPlace, trashOf, volumeOf } from '../kernel/places.ts'
import { boundedMeasure, defaultBounds, noBounds, type Bounds, type MeasureTree } from './measure.ts'
import { baselinePlace, gradeOf, growthOf, maxBytesOf } from './size-limit.ts'
import { sharedAreas, sharedPlace } from '../shared/shared-areas.ts'
import { snapshotsOf } from '../snapshots/lookup.ts'
import { reservations, spaceWarnings, totalWarnings } from './space-report.ts'

type Report = Outputs['usage']
type Of<K extends 'workspaces' | 'bases' | 'shared'> = Report[K][number]
interface Amount {
  bytes: number | null
  complete: boolean
}

/** What takes up how much. Only looks: it waits for no lock, and what goes away meanwhile is not counted. */
export async function usage(
  core: Core,
  input: Inputs['usage'],
  request: Request,
  bounds: Bounds = defaultBounds,
): Promise<Report> {
  const free = await core.storage.free()
  const all = await core.store.list()
  const ids = input.ids ?? []
  const chosen = ids.length > 0 ? await named(core, ids) : all.filter(takesSpace)
  const bases = ids.length > 0 ? [] : [...(await basesOf(core)).values()].filter(({ listed }) => !listed)
  const areas = ids.length > 0 ? [] : await sharedTrees(core)
  const others = bases.length + areas.length
  const trees = chosen.reduce((sum, { trash, snapshots }) => sum + 1 + trash.length + snapshots.all, others)
  const measure = boundedMeasure(core, request, trees, input.full === true ? noBounds : bounds)

  const workspaces: Of<'workspaces'>[] = []
  const expected = new Map<string, number>()
  for (const workspace of chosen) {
    const one = await ofWorkspace(core, measure, workspace)
    workspaces.push(one)
    expected.set(one.id, await expectedBytes(core, workspace, one))
  }
  const frozen: Of<'bases'>[] = []
  const once: Amount[] = []
  for (const { base, source } of bases) {
    const users = await usersOf(core, base)
    const measured = await measure(basePlace(base), { own: true })
    frozen.push({ name: base, from: originOf(source), ...sharingOf(measured), workspaces: users.length })
    once.push({ ...amountOf(measured), ...(measured?.portion !== undefined && { bytes: measured.portion }) })
  }
  const shared: Of<'shared'>[] = []
  for (const { place, ...area } of areas) shared.push({ ...area, ...amountOf(await measure(place)) })
  const repositories = ids.length > 0 ? [] : await core.repositories.list()
  const limits = reservations(core, all)
  const fetched = sum(repositories.map(({ bytes }) => ({ bytes, complete: true })))
  const together = sum([...chosen.map((one, at) => onceOf(one, workspaces[at], expected)), ...once, ...shared, fetched])
  return {
    workspaces: workspaces.toSorted(
      (a, b) => (expected.get(b.id) ?? 0) - (expected.get(a.id) ?? 0) || (a.name < b.name ? -1 : 1),
    ),
    bases: frozen.toSorted(largestFirst),
    repositories: [...repositories].toSorted(largestFirst),
    shared: shared.toSorted(largestFirst),
    totals: {
      workspaces: sum(workspaces.filter(({ state }) => isLive(state as Workspace['state']))),
      snapshots: sum(workspaces.map(({ snapshots }) => snapshots)),
      bases: sum(frozen),
      trash: sum([...workspaces.map(({ trash }) => trash), ...shared.filter(({ state }) => state === 'trashed')]),
      repositories: fetched,
      shared: sum(shared.filter(({ state }) => state === 'ready')),
      all: together,
    },
    storage: {
      driver: core.storage.name,
      free_bytes: free.bytes,
      total_bytes: free.total,
      used_percent: Math.floor(usedPercent({ free: free.bytes, total: free.total })),
      files: free.files,
    },
    limits,
    warnings: [
      ...workspaces.filter(({ over }) => over).map(({ name, size_limit }) => `${name} is over its ${size_limit.mb} MB`),
      ...spaceWarnings(core, free, limits).map(({ message }) => message),
      ...(ids.length > 0 ? [] : totalWarnings(core, together).map(({ message }) => message)),
    ],
  }
}

type SharedTree = Pick<Of<'shared'>, 'name' | 'task' | 'state'> & { readonly place: Place }

async function sharedTrees(core: Core): Promise<SharedTree[]> {
  const { live, trashed } = await sharedAreas(core)
  return [
    ...[...live.values()].map(({ name, task, tree }): SharedTree => ({
      name,
      task,
      state: 'ready',
      place: sharedPlace({ tree }),
    })),
    ...[...trashed.values()].map(({ name, task, trash }): SharedTree => ({
      name,
      task,
      state: 'trashed',
      place: trashOf(trash),
    })),
  ]
}

const named = (core: Core, ids: readonly string[]): Promise<Workspace[]> =>
  Promise.all([...new Set(ids)].map((id) => findWorkspace(core, id)))

/** Of one that is gone, what others began as may be left. */
const takesSpace = ({ state, snapshots }: Workspace): boolean => state !== 'purged' || snapshots.all > 0

const amountOf = (measured: Usage | undefined): Amount => ({
  bytes: measured?.bytes ?? null,
  complete: measured?.complete ?? false,
})

async function ofWorkspace(core: Core, measure: MeasureTree, workspace: Workspace): Promise<Of<'workspaces'>> {
  const live = isLive(workspace.state)
  const measured = async (place: Place): Promise<Sharing> => sharingOf(await measure(place, { own: true }))
  const tree = live ? await measure(volumeOf(workspace), { own: true, beyond: baselinePlace(workspace) }) : undefined
  const growth = live ? await growthOf(core, workspace, measure, tree) : null
  const kept = workspace.snapshots.all === 0 ? [] : [...(await snapshotsOf(core, workspace.id)).keys()]
  const own = { bytes: live ? (tree?.bytes ?? null) : 0, complete: live ? (tree?.complete ?? false) : true }
  const frozen = await each(kept, async (id) => ({ id, found: await measure(snapshotPlace(id), { own: true }) }))
  const all = frozen.map(({ id, found }) => ({ id, ...sharingOf(found) }))
  // Where nobody knows what they share with one another alone, it is what each would give back.
  const parts = frozen.map(({ found }) => ({ ...amountOf(found), bytes: found?.portion ?? found?.own ?? null }))
  const snapshots = { count: all.length, ...sum(parts), all }
  const trees = await each(workspace.trash, async ({ tree: name }) => ({
    tree: name,
    ...(await measured(trashOf(name))),
  }))
  const trash = { count: trees.length, ...sum(trees), trees }
  return {
    id: workspace.id,
    name: nameOf(workspace),
    state: workspace.state,
    ...own,
    growth_bytes: growth,
    own_bytes: tree?.own ?? null,
    shared_bytes: sharingOf(tree).shared_bytes,
    size_limit: { mb: workspace.config.max_size_mb, grade: live ? await gradeOf(core, workspace) : 'none' },
    over: growth !== null && maxBytesOf(workspace) > 0 && growth > maxBytesOf(workspace),
    snapshots,
    trash,
    total_bytes: (own.bytes ?? 0) + (snapshots.bytes ?? 0) + (trash.bytes ?? 0),
  }
}

/** Where not all was counted, what was brought in and what was measured before tell which is likely to be larger. */
async function expectedBytes(core: Core, workspace: Workspace, one: Of<'workspaces'>): Promise<number> {
  if (one.complete) return one.total_bytes
  const measured = await core.sizes.get(workspace.id)
  const grown = Math.max(one.growth_bytes ?? 0, measured?.generation === workspace.generation ? measured.bytes : 0)
  const tree = one.bytes ?? 0
  return one.total_bytes - tree + Math.max(tree, (workspace.imported?.bytes ?? 0) + grown)
}

/** What a workspace adds to all the others: what it began as is counted there, and what it shares once. */
function onceOf(
  workspace: Workspace,
  one: Of<'workspaces'> | undefined,
  expected: ReadonlyMap<string, number>,
): Amount {
  if (one === undefined) return { bytes: 0, complete: true }
  const { bytes, growth_bytes: growth, snapshots, trash, complete, total_bytes: total } = one
  const whole = (expected.get(one.id) ?? total) - (snapshots.bytes ?? 0) - (trash.bytes ?? 0)
  const tree = baselinePlace(workspace) === undefined || growth === null ? whole : Math.min(growth, bytes ?? growth)
  const trees = trash.trees.reduce((sum, entry) => sum + (entry.own_bytes ?? entry.bytes ?? 0), 0)
  return { bytes: tree + (snapshots.bytes ?? 0) + trees, complete: complete && snapshots.complete && trash.complete }
}

interface Sharing extends Amount {
  own_bytes: number | null
  shared_bytes: number | null
}

function sharingOf(measured: Usage | undefined): Sharing {
  const { bytes, complete } = amountOf(measured)
  const own = measured?.own ?? null
  const isKnown = bytes !== null && own !== null && complete
  return { bytes, complete, own_bytes: own, shared_bytes: isKnown ? Math.max(0, bytes - own) : null }
}

/** One after the other: there is one disk. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}

/** Null if there is something, and nothing of it was counted. */
function sum(amounts: readonly Amount[]): Amount {
  const known = amounts.flatMap(({ bytes }) => (bytes === null ? [] : [bytes]))
  return {
    bytes: known.length === 0 && amounts.length > 0 ? null : known.reduce((total, bytes) => total + bytes, 0),
    complete: amounts.every(({ bytes, complete }) => bytes !== null && complete),
  }
}

const largestFirst = (a: { bytes: number | null; name: string }, b: { bytes: number | null; name: string }): number =>
  (b.bytes ?? 0) - (a.bytes ?? 0) || (a.name < b.name ? -1 : 1)

function originOf(source: Source): string {
  if (source.kind === 'git') return source.url
  if (source.kind === 'template') return `template ${source.name}`
  return 'path' in source ? source.path : source.kind
}
