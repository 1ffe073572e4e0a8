import type { Inputs, Outputs } from '../../api/table.ts'
import { toAwError } from '../../domain/errors.ts'
import { sizeText } from '../../domain/space/size.ts'
import type { Core, Finding, Request } from '../core.ts'
import { agentFindings } from '../agents/agents-test.ts'
import { overLimit } from '../space/over-limit.ts'
import { pressureFindings } from '../space/pressure.ts'
import { spaceWarnings, totalWarnings } from '../space/space-report.ts'
import { quickBounds } from '../space/measure.ts'
import { usage } from '../space/usage.ts'

/** Tries what can be tried, says what it saw and what would make it better. */
export async function doctor(core: Core, input: Inputs['doctor'], request: Request): Promise<Outputs['doctor']> {
  const findings = [
    ...(await core.inspect()),
    await storage(core),
    capabilityFinding(core),
    ...(await space(core, request)),
    ...(await overLimit(core, request)),
    ...(await pressureFindings(core)),
    ...(await unfinished(core)),
    ...(input.agent === undefined ? [] : await agentFindings(core, input.agent, request)),
    ...(input.rebuild === true ? [await rebuilt(core)] : []),
    await log(core),
  ]
  return {
    ok: findings.every(({ status }) => status !== 'problem'),
    findings: findings.map((finding) => tidyFinding(core, finding)),
  }
}

/** The rest of what a loader says is for whoever mends the loader; what is to be typed names this home. */
const tidyFinding = ({ home }: Core, { message, hint, ...finding }: Finding): Finding => ({
  ...finding,
  message: message.split('\n', 1)[0] ?? '',
  hint: hint?.replaceAll('--home HOME', `--home ${home}`) ?? null,
})

async function storage(core: Core): Promise<Finding> {
  const probe = await core.storage.probe()
  const name = `storage ${core.storage.name}`
  if (probe.usable) return { name, status: 'ok', message: probe.notes.join('; '), hint: null }
  return { name, status: 'problem', message: probe.reasons.join('; '), hint: 'Check storage.root with: aw config show' }
}

/** What the trees can and cannot do, and why not. */
function capabilityFinding({ storage: { capabilities } }: Core): Finding {
  const { visibility, live, hardlinks, dirRename, idmap, unfaithful } = capabilities
  const why = (what: string): string => unfaithful.find((one) => one.what === what)?.why ?? 'nobody knows why'
  const said = [
    visibility === 'host' ? 'every program sees the workspaces' : 'only sandboxes see the workspaces',
    live === 'atomic' ? 'a snapshot is of one instant' : 'a snapshot of what is being written to may be a mixture',
    `hard links ${hardlinks ? 'stay together' : `come apart: ${why('hard links')}`}`,
    `directories are renamed ${dirRename ? 'in one step' : `by copying: ${why('renames of directories')}`}`,
    idmap
      ? 'each workspace can have a user of its own in its sandbox (idmap)'
      : 'sandboxes have the user of the workspaces',
  ]
  return { name: 'storage abilities', status: 'info', message: said.join('; '), hint: null }
}

async function space(core: Core, request: Request): Promise<Finding[]> {
  try {
    const free = await core.storage.free()
    const enough = free.bytes >= core.config.settings['space.min_free_mb'] * 2 ** 20
    const inodes = free.files === null ? '' : `, and ${free.files.free} of ${free.files.total} inodes`
    const message = `${sizeText(free.bytes)} of ${sizeText(free.total)} are free where workspaces are kept${inodes}`
    const { limits: reserved, totals } = await usage(core, {}, request, quickBounds)
    const warnings = [...spaceWarnings(core, free, reserved), ...totalWarnings(core, totals.all)]
    return [
      { name: 'space', status: enough ? 'ok' : 'problem', message, hint: enough ? null : 'Make room with aw gc' },
      ...warnings.map((warning): Finding => ({ name: 'space', status: 'warning', ...warning })),
      limits(core),
    ]
  } catch (error) {
    return [{ name: 'space', status: 'problem', message: toAwError(error).message, hint: null }]
  }
}

function limits({ storage: { capabilities, name } }: Core): Finding {
  const about = { name: 'size limits', status: 'info' as const }
  if (capabilities.quota === 'kernel')
    return { ...about, message: 'the kernel holds each workspace to its size limit', hint: null }
  if (!capabilities.measures)
    return { ...about, message: 'nobody holds workspaces to their size limit here', hint: null }
  return {
    ...about,
    message: 'aw watches how large workspaces are; what others write beyond a limit is noticed late',
    hint:
      name === 'btrfs'
        ? 'The kernel can hold them to it where root runs aw and quotas are on: btrfs quota enable --simple MOUNT'
        : 'The kernel can hold them to it in a pool: aw init --storage btrfs, as root, in a home without workspaces',
  }
}

async function unfinished(core: Core): Promise<Finding[]> {
  const stuck = (await core.store.list({ inOperation: true })).filter(
    ({ operation }) => operation !== null && core.host.liveness(operation.owner) === 'dead',
  )
  if (stuck.length === 0) return []
  const message = `${stuck.length} operation(s) were left unfinished by processes that are gone`
  return [{ name: 'operations', status: 'warning', message, hint: 'Finish or undo them with: aw recover' }]
}

async function log(core: Core): Promise<Finding> {
  const { intact, events, unsealed, problems } = await core.store.verify()
  if (intact)
    return {
      name: 'log',
      status: 'ok',
      message: `${events} ${events === 1 ? 'record verifies' : 'records verify'}; ${unsealed} not sealed yet`,
      hint: null,
    }
  return {
    name: 'log',
    status: 'problem',
    message: problems[0]?.message ?? 'the log does not verify',
    hint: problems.every(({ kind }) => kind === 'read_model_mismatch')
      ? 'The events are whole; make the read model anew with: aw doctor --rebuild'
      : 'See everything that is wrong with: aw audit verify',
  }
}

async function rebuilt(core: Core): Promise<Finding> {
  const { workspaces, changed } = await core.store.rebuild()
  const message = `the read model of ${workspaces} workspaces was made anew; ${changed.length} differed`
  return { name: 'read model', status: changed.length === 0 ? 'ok' : 'warning', message, hint: null }
}
