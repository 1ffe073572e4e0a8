import type { Outputs } from '../../api/table.ts'
import { sizeText } from '../../domain/space/size.ts'
import { newlyApplicableLimits, reservedMb, type SharedLimit, spaceLimitsOf } from '../../domain/space/limits.ts'
import { usedPercent } from '../../domain/space/watermarks.ts'
import { isLive, type Workspace } from '../../domain/workspace/state.ts'
import type { Free } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'

type Limit = Outputs['usage']['limits'][number]

/** The limits on what live workspaces may grow to together, and what is reserved under each. */
export function reservations({ config: { settings } }: Core, workspaces: readonly Workspace[]): Limit[] {
  const limits = spaceLimitsOf(settings)
  const found = new Map<string, Limit>()
  const count = ({ what, of, mb }: Pick<SharedLimit, 'what' | 'of' | 'mb'>, reserved?: number): void => {
    const key = `${what} ${of}`
    const before = found.get(key) ?? { what, of, limit_mb: mb, reserved_mb: 0, workspaces: 0, unlimited: 0 }
    found.set(key, {
      ...before,
      reserved_mb: before.reserved_mb + (reserved ?? 0),
      workspaces: before.workspaces + (reserved === undefined ? 0 : 1),
      unlimited: before.unlimited + (reserved === 0 ? 1 : 0),
    })
  }
  if (limits.storeMb !== undefined) count({ what: 'store', of: null, mb: limits.storeMb })
  for (const { label, value, mb } of limits.perLabel ?? []) count({ what: 'label', of: `${label}=${value}`, mb })
  for (const workspace of workspaces.filter(({ state }) => isLive(state))) {
    for (const shared of newlyApplicableLimits(limits, undefined, workspace)) count(shared, reservedMb(workspace))
  }
  return [...found.values()]
}

interface Warning {
  readonly message: string
  readonly hint: string
}

/** What is nearly at its end: the disk, its inodes, a limit. */
export function spaceWarnings({ config: { settings } }: Core, free: Free, limits: readonly Limit[]): Warning[] {
  const percent = settings['space.warn_percent']
  const isHigh = (used: number): boolean => percent > 0 && used >= percent
  const disk = usedPercent({ free: free.bytes, total: free.total })
  const inodes = free.files === null ? 0 : usedPercent(free.files)
  const makeRoom = 'Make room with aw gc; see what takes it up with aw usage'
  return [
    ...(isHigh(disk) ? [{ message: `the storage is ${Math.floor(disk)}% full`, hint: makeRoom }] : []),
    ...(isHigh(inodes)
      ? [{ message: `${Math.floor(inodes)}% of the inodes of the storage are taken`, hint: makeRoom }]
      : []),
    ...limits.flatMap((limit) => limitWarnings(limit, isHigh)),
  ]
}

/** More than there should be, as far as it was counted. */
export function totalWarnings(
  { config: { settings } }: Core,
  { bytes, complete }: { bytes: number | null; complete: boolean },
): Warning[] {
  const most = settings['space.warn_total_mb']
  if (most === 0 || bytes === null || bytes <= most * 2 ** 20) return []
  const message = `all that aw keeps takes up ${complete ? '' : 'at least '}${sizeText(bytes)}; space.warn_total_mb is ${most}`
  return [{ message, hint: 'See what it is with aw usage; make room with aw gc, or raise the setting' }]
}

const limitName = ({ what, of }: Pick<Limit, 'what' | 'of'>): string =>
  what === 'store' ? 'the store' : `${what} ${of}`

function limitWarnings(limit: Limit, isHigh: (percent: number) => boolean): Warning[] {
  const { limit_mb, reserved_mb, unlimited } = limit
  const used = (100 * reserved_mb) / limit_mb
  return [
    ...(isHigh(used)
      ? [
          {
            message: `${reserved_mb} of ${limit_mb} MB for ${limitName(limit)} are reserved`,
            hint: 'Destroy what is not needed, or raise the limit',
          },
        ]
      : []),
    ...(unlimited > 0
      ? [
          {
            message: `${unlimited} without a size limit do not count against the ${limit_mb} MB for ${limitName(limit)}`,
            hint: 'They were made before there was a limit; give them one with aw limit, or destroy them',
          },
        ]
      : []),
  ]
}
