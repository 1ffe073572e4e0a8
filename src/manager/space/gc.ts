import type { Inputs, Outputs } from '../../api/table.ts'
import { parseDuration } from '../../domain/text/duration.ts'
import { AwError } from '../../domain/errors.ts'
import { planRetention, type ReclaimPlan, type RetentionPolicy, trashCutoff } from '../../domain/space/retention.ts'
import { watermarksOf } from '../../domain/space/watermarks.ts'
import type { Core, Request } from '../core.ts'
import { applyPlan, type Done } from './gc-apply.ts'
import { holdReason } from './gc-hold-reasons.ts'
import { bytesOfCandidate, type GcCandidate, gcCandidates, ownerName } from './gc-candidates.ts'
import { checkpointSignal } from '../kernel/operations.ts'
import { spaceOf, spaceReport } from './pressure.ts'
import { trashedShared } from '../shared/shared-trash.ts'

type Report = Outputs['gc']

/** Lets go what nobody needs, as the settings say. One at a time in a home: the `janitor` lock. */
export async function gc(core: Core, input: Inputs['gc'], request: Request): Promise<Report> {
  const policy = policyOf(core, input)
  const about = await describer(core)
  if (input.plan === true) return planned(core, await makePlan(core, request, policy), about)
  using janitor = await core.host.lock('janitor', { timeoutMs: 0, signal: request.signal })
  if (janitor === undefined) {
    throw new AwError('workspace_busy', 'Another process is already erasing what has expired', {
      hint: 'Let it finish',
    })
  }
  const plan = await makePlan(core, request, policy)
  return await applied(core, plan, await applyPlan(core, request, plan, policy), about)
}

const day = 86_400_000

function policyOf(core: Core, input: Inputs['gc']): RetentionPolicy {
  const { settings } = core.config
  // Beyond that no date can tell when it ends.
  const days = (count: number): number => Math.min(count, 36_500) * day
  const switched = (count: number): number | null => (count === 0 ? null : days(count))
  const trash =
    input.older_than === undefined
      ? days(settings['trash.retention_days'])
      : parseDuration(input.older_than, 'older_than')
  return {
    now: core.clock.now().toISOString(),
    keepMs: {
      base: days(settings['bases.retention_days']),
      tree: trash,
      archive: switched(settings['archive.retention_days']),
      workspace: switched(settings['workspaces.retention_days']),
    },
    marks: watermarksOf(settings),
  }
}

/** The one place that decides. What is done afterwards looks again under each lock. */
async function makePlan(core: Core, request: Request, policy: RetentionPolicy): Promise<ReclaimPlan<GcCandidate>> {
  request.onProgress?.({ phase: 'looking for what may go' })
  const space = await spaceOf(core)
  const candidates = await gcCandidates(core, request, trashCutoff(policy))
  return planRetention(candidates, policy, space, {
    held: (candidate) => holdReason(core, candidate),
    bytes: (candidate) => {
      checkpointSignal(request)
      request.onProgress?.({ phase: `measuring ${ownerName(candidate) ?? candidate.name}` })
      return bytesOfCandidate(core, candidate)
    },
  })
}

async function planned(
  core: Core,
  { goes, stays, frees, later }: ReclaimPlan<GcCandidate>,
  about: Describe,
): Promise<Report> {
  return {
    applied: false,
    items: goes.map(({ thing, action, why, bytes }) => ({
      ...about(thing),
      action,
      reason: why,
      bytes,
      archive: null,
      error: null,
    })),
    kept: stays.map(({ thing, why }) => ({ ...about(thing), reason: why })),
    bytes: frees,
    later_bytes: later,
    space: spaceReport(core, await spaceOf(core)),
  }
}

async function applied(
  core: Core,
  { stays }: ReclaimPlan<GcCandidate>,
  { items, left }: Done,
  about: Describe,
): Promise<Report> {
  const went = items.filter(({ error }) => error === null)
  const sum = (wanted: 'erase' | 'trash'): number =>
    went.reduce((total, { action, bytes }) => (action === wanted ? total + bytes : total), 0)
  return {
    applied: true,
    items: items.map(({ thing, ...item }) => ({ ...about(thing), ...item })),
    kept: [...stays, ...left].map(({ thing, why }) => ({ ...about(thing), reason: why })),
    bytes: sum('erase'),
    later_bytes: sum('trash'),
    space: spaceReport(core, await spaceOf(core)),
  }
}

type Describe = (candidate: GcCandidate) => Pick<Report['kept'][number], 'kind' | 'tree' | 'workspace' | 'shared'>

/** Says what a thing is, as it is called before anything goes. */
async function describer(core: Core): Promise<Describe> {
  const areas = new Map((await trashedShared(core)).map(({ trash, name }) => [trash, name]))
  return (candidate) => ({
    kind: candidate.kind,
    tree: candidate.name,
    workspace: ownerName(candidate),
    shared: areas.get(candidate.name) ?? null,
  })
}
