import type { Base } from '../../domain/sources/bases.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { Reclaimable } from '../../domain/space/retention.ts'
import { baseNameOf, isLive, nameOf, type TrashedTree, type Workspace } from '../../domain/workspace/state.ts'
import type { Place, Usage } from '../../ports/storage-driver.ts'
import { basePlace, basesOf } from '../sources/base-trees.ts'
import type { Core, Request } from '../core.ts'
import { gcSnapshots } from './gc-snapshots.ts'
import { usedBases } from '../sources/own-base.ts'
import { erasingOf, trashOf, volumeOf } from '../kernel/places.ts'
import { leftoversOf } from '../recovery/reconcile.ts'
import { baselinePlace } from './size-limit.ts'
import { trashedShared } from '../shared/shared-trash.ts'
import { templatesOf } from '../templates/template-tree.ts'

/** A thing that takes space, with what is needed to let it go. */
export type GcCandidate = Reclaimable & { readonly workspace: Workspace | null } & (
    | { readonly kind: 'leftover'; readonly place: Place }
    | { readonly kind: 'base'; readonly base: Base }
    | { readonly kind: 'cache'; readonly bytes: number }
    | { readonly kind: 'damaged'; readonly bytes: number }
    | { readonly kind: 'tree' }
    | { readonly kind: 'snapshot'; readonly bytes: number }
    | { readonly kind: 'archive'; readonly bytes: number; readonly digest: string }
    | { readonly kind: 'workspace'; readonly workspace: Workspace }
  )

export type GcCandidateOf<K extends GcCandidate['kind']> = Extract<GcCandidate, { kind: K }>

/** Everything that gc decides about, as log and disk tell it now. */
export async function gcCandidates(core: Core, request: Request, cutoff: string): Promise<GcCandidate[]> {
  // The disk first: what the log does not know afterwards is nobody's.
  const onDisk = await core.storage.list()
  const leftovers = await leftoversOf(core, onDisk)
  const workspaces = await core.store.list()
  return [
    ...leftovers.map((place) => leftover(place)),
    ...(await bases(core, workspaces)),
    ...(await caches(core)),
    ...(await damagedContents(core)),
    ...workspaces.flatMap((workspace) => workspace.trash.map((entry) => treeCandidate(workspace, entry))),
    ...(await sharedTrees(core)),
    ...(await spareSnapshots(core, request, cutoff)),
    ...workspaces.flatMap(archivesOf),
    ...(await Promise.all(workspaces.filter(({ state }) => isLive(state)).map((one) => workspaceCandidate(core, one)))),
  ]
}

const always = new Date(0).toISOString()

const leftover = (place: Place): GcCandidate => ({
  kind: 'leftover',
  name: place.name,
  since: always,
  spare: 'left unfinished by a process that is gone',
  workspace: null,
  place,
})

async function bases(core: Core, workspaces: readonly Workspace[]): Promise<GcCandidate[]> {
  const found = [...(await basesOf(core)).values()]
  const templates = await templateBases(core)
  const used = usedBases(workspaces)
  return found.flatMap((base): GcCandidate[] => {
    if (templates.has(base.base) || used.has(base.base)) return []
    const users = workspaces.filter((workspace) => baseNameOf(workspace) === base.base)
    const since = users.map(({ updated_at }) => updated_at).reduce(latest, base.created_at)
    return [{ kind: 'base', name: base.base, since, workspace: null, base }]
  })
}

/** The trees of templates: they cannot be made again. One that was removed, or was never saved, is as any other. */
export async function templateBases(core: Core): Promise<Set<string>> {
  return new Set([...(await templatesOf(core)).values()].flat().map(({ base }) => base))
}

const latest = (one: string, other: string): string => (one > other ? one : other)

async function caches(core: Core): Promise<GcCandidate[]> {
  const found = await core.repositories.list()
  return found.map(({ name, bytes, used_at: since }) => ({ kind: 'cache', name, since, workspace: null, bytes }))
}

/** The bytes that a snapshot should have had and has not: they are of use only to who wants to know what befell them. */
async function damagedContents({ storage }: Core): Promise<GcCandidate[]> {
  const found = (await storage.damaged?.list()) ?? []
  return found.map(({ name, bytes, at }) => ({
    kind: 'damaged',
    name,
    since: at.toISOString(),
    workspace: null,
    bytes,
  }))
}

const origins: Readonly<Record<TrashedTree['reason'], string>> = {
  user: 'destroyed',
  agent_completed: 'destroyed',
  pod_shutdown: 'destroyed at a shutdown',
  retention: 'expired',
  failed_create: 'destroyed',
  reset: 'replaced by a reset',
  found: 'found on disk',
}

const treeCandidate = (workspace: Workspace, { tree, at, reason }: TrashedTree): GcCandidate => ({
  kind: 'tree',
  name: tree,
  since: at,
  origin: origins[reason],
  workspace,
})

async function sharedTrees(core: Core): Promise<GcCandidate[]> {
  const found = await trashedShared(core)
  return found.map(({ trash: name, at: since, name: area }) => ({
    kind: 'tree',
    name,
    since,
    origin: `shared area ${area}, removed`,
    workspace: null,
  }))
}

async function spareSnapshots(core: Core, request: Request, cutoff: string): Promise<GcCandidate[]> {
  const found = await gcSnapshots(core, request, cutoff, true)
  return found.map(({ snapshot, workspace, reason, bytes }) => ({
    kind: 'snapshot',
    name: snapshot satisfies SnapshotId,
    since: always,
    spare: reason,
    workspace,
    bytes,
  }))
}

const archivesOf = (workspace: Workspace): GcCandidate[] =>
  (workspace.archives ?? []).map(({ path: name, at: since, bytes, digest }) => ({
    kind: 'archive',
    name,
    since,
    workspace,
    bytes,
    digest,
  }))

/** Used last is when something was done with it through aw, or when somebody's lease ended. */
export async function workspaceCandidate(core: Core, workspace: Workspace): Promise<GcCandidateOf<'workspace'>> {
  const lease = await core.store.lease(workspace.id)
  return {
    kind: 'workspace',
    name: workspace.id,
    since: latest(workspace.updated_at, lease?.expires_at ?? always),
    expires_at: workspace.expires_at,
    workspace,
  }
}

/** The label that keeps a workspace, whatever its value. */
export const isKept = ({ labels }: Workspace): boolean => Object.hasOwn(labels, 'keep')

/** About what erasing it gives back. What cannot be measured gives nothing. */
export async function bytesOfCandidate(core: Core, candidate: GcCandidate): Promise<number> {
  if ('bytes' in candidate) return candidate.bytes
  let sum = 0
  for (const place of placesOf(candidate)) {
    if (!(await core.storage.exists(place))) continue
    const { workspace } = candidate
    sum += await (workspace !== null && isWhole(candidate) ? wholeBytes(core, place, workspace) : ownBytes(core, place))
  }
  return sum
}

/** With it goes all that is left of its workspace: not a tree that a reset replaced. */
const isWhole = ({ kind, workspace, name }: GcCandidate): boolean =>
  kind === 'workspace' || (workspace?.state === 'trashed' && workspace.trash.at(-1)?.tree === name)

async function ownBytes(core: Core, place: Place): Promise<number> {
  const { bytes, own } = await core.storage.usage(place, { own: true }).catch(() => ({ bytes: 0, own: 0 }))
  return own ?? bytes
}

/**
 * What it shares with its own snapshots is nobody's alone, but comes back too, for they go with it. What it shares with
 * what it began as does not.
 */
async function wholeBytes(core: Core, place: Place, workspace: Workspace): Promise<number> {
  const base = baselinePlace(workspace)
  const { bytes, own, beyond } = await core.storage
    .usage(place, { own: true, beyond: base })
    .catch(async (): Promise<Usage> => ({ ...(await core.storage.usage(place)), own: null }))
    .catch(() => ({ bytes: 0, own: null, beyond: null }))
  // Where trees share nothing, or nobody can tell what, all of it counts.
  if (base === undefined || own == null) return bytes
  return Math.max(own, beyond ?? bytes - (await baseBytes(core, workspace, base)))
}

const baseBytes = async (core: Core, { imported }: Workspace, base: Place): Promise<number> =>
  imported?.bytes ?? (await core.storage.usage(base).catch(() => ({ bytes: 0 }))).bytes

function placesOf(candidate: GcCandidate): Place[] {
  if (candidate.kind === 'leftover') return [candidate.place]
  if (candidate.kind === 'base') return [basePlace(candidate.name)]
  if (candidate.kind === 'workspace') return [volumeOf(candidate.workspace)]
  return [trashOf(candidate.name), erasingOf(candidate.name)]
}

export const ownerName = ({ workspace }: GcCandidate): string | null => (workspace === null ? null : nameOf(workspace))
