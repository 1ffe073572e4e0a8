import { AwError } from '../errors.ts'
import { isLive, nameOf, repositoryOf, type Workspace } from '../workspace/state.ts'

/**
 * Limits on what live workspaces may grow to together. A live workspace reserves its `max_size_mb`, whether it uses that
 * or not; the check is made inside the append that makes it live or lets it grow further, so that two that race for the
 * last room cannot both have it. Nothing else is ever refused for such a limit.
 */
export interface SpaceLimits {
  /** All live workspaces together. */
  readonly storeMb?: number | undefined
  /** Those of one repository together, for each repository. */
  readonly perRepositoryMb?: number | undefined
  readonly perLabel?: readonly LabelLimit[] | undefined
}

export interface LabelLimit {
  readonly label: string
  readonly value: string
  readonly mb: number
}

/** One limit that a workspace falls under, and the others that it shares it with. */
export interface SharedLimit {
  readonly what: 'store' | 'repository' | 'label'
  /** The repository, or `label=value`. */
  readonly of: string | null
  readonly mb: number
  /** Which setting it comes from. */
  readonly setting: string
}

/** A workspace that is made, or gets another limit of its own, asks for room. */
export const needsReservation = (before: Workspace | undefined, after: Workspace): boolean =>
  before === undefined || reservedMb(after) > reservedMb(before) || (reservedMb(after) === 0 && reservedMb(before) > 0)

/** The limits that an append makes a workspace fall under which it did not before, or ask for more of. */
export function newlyApplicableLimits(
  limits: SpaceLimits,
  before: Workspace | undefined,
  after: Workspace | undefined,
): SharedLimit[] {
  if (after === undefined) return []
  const had = before === undefined || needsReservation(before, after) ? [] : limitsFor(limits, before)
  return limitsFor(limits, after).filter(({ what, of }) => !had.some((one) => one.what === what && one.of === of))
}

function limitsFor({ storeMb, perRepositoryMb, perLabel = [] }: SpaceLimits, workspace: Workspace): SharedLimit[] {
  if (!isLive(workspace.state)) return []
  const repository = repositoryOf(workspace)
  return [
    ...(storeMb === undefined ? [] : [{ what: 'store', of: null, mb: storeMb, setting: 'space.budget_mb' } as const]),
    ...(perRepositoryMb === undefined || repository === null
      ? []
      : [{ what: 'repository', of: repository, mb: perRepositoryMb, setting: 'space.per_repo_mb' } as const]),
    ...perLabel
      .filter(({ label, value }) => workspace.labels[label] === value)
      .map(({ label, value, mb }) => ({
        what: 'label' as const,
        of: `${label}=${value}`,
        mb,
        setting: 'space.per_label',
      })),
  ]
}

/** Whether a workspace that is live counts against a limit that others fall under. */
export function limitApplies({ what, of }: SharedLimit, workspace: Workspace): boolean {
  if (what === 'store') return true
  if (what === 'repository') return repositoryOf(workspace) === of
  return Object.entries(workspace.labels).some(([label, value]) => `${label}=${value}` === of)
}

/** What a workspace may grow to beyond what it began as; 0 is no limit. */
export const reservedMb = ({ config }: Pick<Workspace, 'config'>): number => config.max_size_mb

/**
 * @param reserved what the others under the limit may grow to
 * @param fresh it is being made, or asks for more: then it must have a limit of its own, or the one on all would mean nothing
 */
export function assertReservable(limit: SharedLimit, workspace: Workspace, reserved: number, fresh: boolean): void {
  const asked = reservedMb(workspace)
  if (reserved + asked <= limit.mb && !(fresh && asked === 0)) return
  const name = nameOf(workspace)
  const data = { what: limit.what, of: limit.of, limit: limit.mb, reserved, asked }
  const where = {
    store: 'all workspaces',
    repository: `workspaces of ${limit.of}`,
    label: `workspaces with ${limit.of}`,
  }
  if (asked === 0)
    throw new AwError('limit_reached', `${name} has no size limit, and ${where[limit.what]} share ${limit.mb} MB`, {
      hint: `Give it one (${raiseLimitHint(workspace)}), or lift ${limit.setting}`,
      data,
    })
  const free = Math.max(0, limit.mb - reserved)
  throw new AwError(
    'limit_reached',
    `${name} asks for ${asked} MB, and of the ${limit.mb} MB for ${where[limit.what]} ${reserved} MB are reserved`,
    {
      hint:
        free === 0
          ? `Destroy one that is not needed, or raise ${limit.setting}; see: aw usage`
          : `Ask for ${free} MB at the most (${raiseLimitHint(workspace)}), destroy one, or raise ${limit.setting}`,
      data,
    },
  )
}

const raiseLimitHint = ({ source, operation }: Workspace): string =>
  source.kind === 'workspace' && operation?.kind === 'create'
    ? `a fork has the limit of its source: aw limit ${source.name} MB`
    : 'max_size_mb in its config, or aw limit'

/** What the settings say. */
export function spaceLimitsOf(settings: {
  readonly 'space.budget_mb': number
  readonly 'space.per_repo_mb': number
  readonly 'space.per_label': string
}): SpaceLimits {
  const unlessZero = (mb: number): number | undefined => (mb === 0 ? undefined : mb)
  return {
    storeMb: unlessZero(settings['space.budget_mb']),
    perRepositoryMb: unlessZero(settings['space.per_repo_mb']),
    perLabel: parseLabelLimits(settings['space.per_label']),
  }
}

/** `team=web:5000, user=ann:20000`: label, value, MB. Undefined if it is not written so, or says a label twice. */
export function parseLabelLimits(text: string): LabelLimit[] | undefined {
  const items = text.split(',').map((item) => item.trim())
  if (items.length === 1 && items[0] === '') return []
  const limits = items.map((item) => {
    const [, label = '', value = '', mb] = /^([A-Za-z0-9][A-Za-z0-9._/-]{0,62})=(.{0,200}):(\d{1,12})$/.exec(item) ?? []
    return mb === undefined ? undefined : { label, value: value.trim(), mb: Number(mb) }
  })
  const known = limits.filter((limit) => limit !== undefined)
  const names = new Set(known.map(({ label, value }) => `${label}=${value}`))
  return names.size === items.length && known.every(({ mb }) => mb > 0) ? known : undefined
}
