import { AwError, toAwError } from '../../domain/errors.ts'
import { sizeText } from '../../domain/space/size.ts'
import { baseNameOf, baseOf, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Place, Usage } from '../../ports/storage-driver.ts'
import { basePlace } from '../sources/base-trees.ts'
import type { Core } from '../core.ts'
import { isSnapshotDamaged } from '../diff/differences.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'

/**
 * The most that a workspace may hold beyond what it began as: `max_size_mb` of its configuration, 0 for no limit. The
 * kernel holds it to that where the storage can; elsewhere aw watches it, and refuses to write more, to snapshot and to
 * fork what is over it. Nothing that reads, removes, destroys or brings back is ever refused.
 */

/** `kernel`: nobody can write more. `watched`: what goes through aw is refused. `none`: nothing is, or there is no limit. */
export type Grade = 'kernel' | 'watched' | 'none'

export const maxBytesOf = ({ config }: Pick<Workspace, 'config'>): number => config.max_size_mb * 2 ** 20

/** Lets the kernel hold a tree to the limit, from what it has now. What was written to it before is durable. */
export async function applyKernelLimit(core: Core, workspace: Workspace, place: Place): Promise<void> {
  const bytes = maxBytesOf(workspace)
  if (bytes > 0 && core.storage.capabilities.quota === 'kernel') await core.storage.limit(place, bytes)
}

/** What a restore holds the tree to afterwards. */
export const kernelLimit = (core: Core, workspace: Workspace): number | undefined =>
  core.storage.capabilities.quota === 'kernel' ? maxBytesOf(workspace) || undefined : undefined

/**
 * What a tree has beyond what it began as; null if that cannot be told. In constant time where the kernel counts; else
 * from what the tree was measured to hold.
 */
export async function growthOf(
  core: Core,
  workspace: Workspace,
  measure: (place: Place) => Promise<Usage | undefined>,
  tree: Usage | undefined,
): Promise<number | null> {
  const limit = maxBytesOf(workspace)
  const room = await roomLeftIn(core, workspace)
  if (limit > 0 && room !== null) return Math.max(0, limit - room)
  if (typeof tree?.beyond === 'number') return tree.beyond
  const baseline = tree && (await baseBytes(workspace, measure))
  if (tree === undefined || baseline == null) return null
  // What was not counted may be all that is new.
  const grown = tree.bytes - baseline
  return tree.complete || grown > 0 ? Math.max(0, grown) : null
}

export async function gradeOf(core: Core, workspace: Workspace): Promise<Grade> {
  if (maxBytesOf(workspace) === 0) return 'none'
  if ((await roomLeftIn(core, workspace)) !== null) return 'kernel'
  return core.storage.capabilities.measures ? 'watched' : 'none'
}

/** A tree that is gone, or not mounted, is held to nothing. */
export const roomLeftIn = (core: Core, workspace: Workspace): Promise<number | null> =>
  core.storage.room(volumeOf(workspace)).catch(() => null)

/** What it has beyond what it began as, by a walk through it; null if that cannot be told. */
export const grownBytes = async (core: Core, workspace: Workspace): Promise<number | null> =>
  core.storage.capabilities.measures ? (await counted(core, workspace)).bytes : null

interface Counted {
  readonly bytes: number | null
  readonly complete: boolean
  readonly began?: number | null
}

async function counted(core: Core, workspace: Workspace): Promise<Counted> {
  const volume = volumeOf(workspace)
  const base = baselinePlace(workspace)
  // Some drivers know without looking at what is shared.
  const quick = base && (await core.storage.usage(volume, { maxFiles: 0, beyond: base })).beyond
  if (typeof quick === 'number') return { bytes: quick, complete: true }
  const { bytes, complete } = await core.storage.usage(volume, { maxFiles })
  const began = await baselineBytes(core, workspace)
  return { bytes: began === null ? null : Math.max(0, bytes - began), complete, began }
}

/** What was brought into it when it was made; null if that cannot be told. */
export const baselineBytes = (core: Core, workspace: Workspace): Promise<number | null> =>
  baseBytes(workspace, (place) => core.storage.usage(place, { maxFiles }))

/** The frozen tree that it began as. */
export function baselinePlace(workspace: Workspace): Place | undefined {
  const [snapshot, base] = [baseOf(workspace), baseNameOf(workspace)]
  if (snapshot !== null) return snapshotPlace(snapshot)
  return base === null ? undefined : basePlace(base)
}

/** What a tree was filled with, when nobody is left who counted it: what it has now. It is its base, and not its own. */
export async function measureImported(core: Core, workspace: Workspace): Promise<Workspace['imported']> {
  const { kind } = workspace.source
  if (kind === 'empty' || kind === 'workspace' || !core.storage.capabilities.measures) return null
  const { files, bytes } = await core.storage.usage(volumeOf(workspace), { maxFiles })
  return { files, bytes, reflinked: 0, skipped: 0, skipped_paths: [] }
}

/**
 * What was brought into it when it was made; null if that is more than can be counted, or cannot be read any more: that
 * keeps nobody from keeping what is there.
 */
async function baseBytes(
  workspace: Workspace,
  measure: (place: Place) => Promise<Usage | undefined>,
): Promise<number | null> {
  const snapshot = baseOf(workspace)
  if (snapshot === null) return workspace.imported?.bytes ?? 0
  const measured = await measure(snapshotPlace(snapshot)).catch((error: unknown) => {
    if (isSnapshotDamaged(error)) return undefined
    throw error
  })
  return measured?.complete === true ? measured.bytes : null
}

/** Files that are counted at the most before something is written: about a second. */
const maxFiles = 200_000

/** Of the time that passes, and of what is written, so little goes by unmeasured; what takes no `instant` ms is free. */
const share = 1 / 100
const instant = 5

interface Check {
  /** Bytes that are about to be written; asked for only if there is something to compare them with. */
  readonly more?: (() => number) | undefined
  /** Bytes that were written just now, and go again if that is refused. */
  readonly done?: number | undefined
}

/**
 * `quota_exceeded` if the workspace is watched and over its limit, or would be. What was measured a moment ago and what
 * was written since will do, as long as that is within the limit, where measuring takes long or little is written.
 */
export async function assertRoom(core: Core, workspace: Workspace, { more, done = 0 }: Check = {}): Promise<void> {
  const limit = maxBytesOf(workspace)
  if (limit === 0 || (await gradeOf(core, workspace)) !== 'watched') return
  const asked = more?.() ?? 0
  // What makes a file smaller is the way out.
  if (more !== undefined && asked <= 0) return
  const now = core.clock.now().getTime()
  const known = await core.sizes.get(workspace.id)
  // A snapshot adds nothing to a tree: of one that has replaced another of late it need not be known better.
  if (known !== undefined && (more === undefined || known.generation === workspace.generation)) {
    const written = known.written + done + asked
    const small = more !== undefined && written < limit * share
    const spent = known.took >= instant ? known.took : small ? instant : 0
    if (now - known.at < spent / share && known.bytes + written <= limit) {
      await core.sizes.put(workspace.id, { ...known, written })
      return
    }
  }
  const { bytes, complete, began } = await counted(core, workspace)
  const took = core.clock.now().getTime() - now
  const fits = bytes === null || bytes + asked <= limit
  const { id, generation } = workspace
  const base = began === undefined ? {} : { began }
  await core.sizes.put(id, { generation, bytes: bytes ?? 0, ...base, written: fits ? asked : 0, at: now, took })
  if (!fits) throw exceeded(workspace, { bytes, complete, asked })
}

/** What may be added to a workspace that is watched, by what it holds now; Infinity if nothing holds it to a limit. */
export async function roomToGrow(core: Core, workspace: Workspace): Promise<number> {
  const limit = maxBytesOf(workspace)
  if (limit === 0 || (await gradeOf(core, workspace)) !== 'watched') return Infinity
  const { bytes } = await counted(core, workspace)
  return bytes === null ? Infinity : limit - bytes
}

/** `quota_exceeded` if so much more does not fit into the room that there was. */
export function assertRoomFor(workspace: Workspace, more: number, room: number): void {
  if (more <= Math.max(0, room)) return
  throw exceeded(workspace, { bytes: maxBytesOf(workspace) - room, complete: true, asked: more })
}

function exceeded(
  workspace: Workspace,
  { bytes, complete, asked }: { bytes: number; complete: boolean; asked: number },
): AwError {
  const holds = `${complete ? '' : 'at least '}${sizeText(bytes)}`
  const more = asked === 0 ? '' : `, and ${asked < 2 ** 20 ? `${asked} bytes` : sizeText(asked)} are to be added`
  return overLimit(workspace, 'watched', `it holds ${holds} beyond what it began as${more}`, { bytes, asked })
}

/** What the kernel refused, with whose limit it is. */
export function explainQuotaError(workspace: Workspace, error: unknown): unknown {
  const { code, data, message } = toAwError(error)
  if (code !== 'quota_exceeded' || 'limit_mb' in data) return error
  return overLimit(workspace, 'kernel', message, data, error)
}

function overLimit(
  workspace: Workspace,
  grade: Grade,
  why: string,
  data: Readonly<Record<string, unknown>>,
  cause?: unknown,
): AwError {
  const name = nameOf(workspace)
  const limit_mb = workspace.config.max_size_mb
  const snapshots = grade === 'kernel' ? `, and snapshots of it: aw snapshots ${name}` : ''
  return new AwError('quota_exceeded', `${name} is at its size limit of ${limit_mb} MB: ${why}`, {
    hint: limitHint(workspace) + snapshots,
    data: { id: workspace.id, limit_mb, grade, ...data },
    cause,
  })
}

/** Commands cannot free space in a workspace that is over its limit: none is started there. */
export const limitHint = (workspace: Workspace): string =>
  `Raise it with: aw limit ${nameOf(workspace)} MB; or remove files with: aw fs remove ${nameOf(workspace)} PATH`
