import { configuration } from '../../domain/agents/configuration.ts'
import { listOf } from '../../domain/config/kinds.ts'
import { AwError } from '../../domain/errors.ts'
import { fixes } from '../../domain/sandbox/fixes.ts'
import { parseRules } from '../../domain/network/rules.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { limitNames, type Isolation, type Limits, type Network } from '../../domain/sandbox/spec.ts'
import { mountSetting, nextMount, type MountedWorkspace } from '../../domain/sandbox/mount.ts'
import { nameOf, type BoxFacts, type SharedMount, type Workspace } from '../../domain/workspace/state.ts'
import type { SandboxDriver, SandboxSpec } from '../../ports/sandbox-driver.ts'
import { instructionsBesideContent } from '../workspaces/agent-blocks.ts'
import { agentRules, equipmentOf } from '../agents/equipment.ts'
import { bridgeEnv, bridgeSpec, hasBridge } from './bridge.ts'
import type { Core } from '../core.ts'
import { volumeOf } from '../kernel/places.ts'
import { sizeWatch } from '../space/size-watch.ts'
import type { Slotted } from '../workspaces/slots.ts'
import { sharedAreas, sharedPlace } from '../shared/shared-areas.ts'

/** What a caller may say about a sandbox; the settings say the rest. */
export interface SandboxRequest {
  readonly isolation?: Isolation | undefined
  readonly network?: Network['mode'] | undefined
  readonly allow?: readonly string[] | undefined
  readonly shared?: readonly string[] | undefined
  readonly agent?: string | undefined
  readonly mcp?: boolean | undefined
  readonly memory_mb?: number | undefined
  readonly cpu_percent?: number | undefined
  readonly processes?: number | undefined
  readonly open_files?: number | undefined
  readonly file_size_mb?: number | undefined
}

type Planned = Omit<BoxFacts, 'sandbox'>

/** What a new sandbox would be, by the caller's wish and the settings. */
export async function planSandbox(
  core: Core,
  workspace: MountedWorkspace & Pick<Workspace, 'task'>,
  asked: SandboxRequest,
): Promise<Planned> {
  const { settings } = core.config
  const isolation = asked.isolation ?? settings['sandbox.isolation']
  return {
    isolation,
    network: await networkOf(core, isolation, asked),
    limits: limitsOf(asked),
    mount: nextMount(mountSetting(core.config), workspace),
    shared: await sharedMounts(core, workspace, asked.shared ?? []),
    ...(asked.agent === undefined ? {} : { agent: asked.agent }),
    ...((await hasBridge(core, asked)) ? { mcp: true } : {}),
  }
}

export async function networkOf(
  core: Core,
  isolation: Isolation,
  { network, allow, agent }: SandboxRequest,
): Promise<Network> {
  const { settings } = core.config
  const configured = listOf(settings['sandbox.allow'])
  // Whoever names hosts wants them to be reached, and no others.
  const mode = network ?? (allow === undefined ? defaultNetwork(core, isolation, agent) : 'allowlist')
  if (mode === 'allowlist') {
    const rules = [...new Set([...(allow ?? configured), ...(await agentRules(core, agent, isolation))])]
    parseRules(rules)
    return { mode, allow: rules }
  }
  if (allow === undefined) return { mode }
  throw new AwError('invalid_input', `Hosts to allow are of no use with the network ${mode}`, {
    hint: 'Leave out the network, or say allowlist',
    data: { field: 'allow' },
  })
}

/**
 * Without any walls the network is the host's, unless somebody has asked for another: then that is refused. An agent is
 * of no use without a network: it has the hosts that it needs.
 */
function defaultNetwork(
  { config: { settings, origins } }: Core,
  isolation: Isolation,
  agent: string | undefined,
): Network['mode'] {
  if (origins['sandbox.network'] !== 'default') return settings['sandbox.network']
  if (isolation === 'none') return 'host'
  return agent !== undefined && isolation === 'namespace' ? 'allowlist' : settings['sandbox.network']
}

/** Only what is limited. 0 takes a limit of the settings away. */
export function limitsOf(asked: Partial<Record<keyof Limits, number | undefined>>): Limits {
  return Object.fromEntries(limitNames.flatMap((name) => (asked[name] === undefined ? [] : [[name, asked[name]]])))
}

/** `NAME`, `NAME:ro`, `NAME:/path` or `NAME:/path:ro`. */
async function sharedMounts(
  core: Core,
  { task }: Pick<Workspace, 'task'>,
  wishes: readonly string[],
): Promise<SharedMount[]> {
  if (wishes.length === 0) return []
  const { live } = await sharedAreas(core)
  return wishes.map((asked) => {
    const parts = /^(?<name>[^:]+)(?::(?<path>\/[^:]*))?(?::(?<mode>ro|rw))?$/.exec(asked)?.groups
    if (parts === undefined)
      throw new AwError('invalid_input', `${JSON.stringify(asked)} is no way to attach a shared area`, {
        hint: 'Write NAME, NAME:ro, NAME:/path or NAME:/path:ro',
        data: { field: 'shared' },
      })
    const { name = '', path = `/shared/${name}`, mode } = parts
    const area = live.get(name)
    if (area === undefined || (area.task !== null && area.task !== task))
      throw new AwError('shared_not_found', `There is no shared area ${name} for the task ${task}`, {
        hint: 'See what there is: aw shared list',
        data: { name },
      })
    return { name, path, writable: mode !== 'ro' }
  })
}

/** What the driver is to make of it. */
export async function specOf(core: Core, workspace: Slotted, box: BoxFacts, once = false): Promise<SandboxSpec> {
  const { settings } = core.config
  const areas = box.shared.length === 0 ? undefined : (await sharedAreas(core)).live
  const instructions = box.agent === undefined ? '' : await instructionsBesideContent(core, workspace)
  const equipment = await equipmentOf(core, workspace.id, box, { instructions })
  await core.storage.ready(volumeOf(workspace))
  return {
    ...wallsOf(core, box, workspace, equipment.protect),
    attachment: core.storage.attachment(volumeOf(workspace)),
    label: nameOf(workspace),
    binds: [
      ...box.shared.flatMap(({ name, path: target, writable }) => {
        const area = areas?.get(name)
        return area === undefined ? [] : [{ source: core.storage.attachment(sharedPlace(area)).path, target, writable }]
      }),
      ...equipment.binds,
    ],
    networkLog: core.requests.place(workspace.id),
    brokers: equipment.brokers,
    ...bridgeSpec(core, box),
    size: await sizeWatch(core, workspace),
    env: { ...equipment.env, ...bridgeEnv(box) },
    programs: equipment.programs,
    gitUser: {
      name: workspace.config.git_config.user_name || settings['git.user_name'],
      email: workspace.config.git_config.user_email || settings['git.user_email'],
    },
    once,
  }
}

/** What a sandbox holds, whatever tree it is around. */
export type BoxWalls = Pick<BoxFacts, 'isolation' | 'network' | 'limits' | 'mount'>

/** As much of a spec as can be said without a tree. */
export function wallsOf(
  core: Core,
  { isolation, network, limits, mount }: BoxWalls,
  { profile, slot }: { readonly profile: string; readonly slot: number },
  ofAgent?: readonly string[],
): Omit<SandboxSpec, 'attachment'> {
  const { settings } = core.config
  const { metadata, content } = profileOf(profile)
  return {
    mount,
    content,
    ...(isolation === 'namespace'
      ? { protect: [metadata], protectWithin: readOnlyNames(core, { profile }, ofAgent) }
      : // Nothing can be taken out of a tree without a mount of its own; aw doctor and the docs say so.
        { protect: [] }),
    binds: [],
    network,
    limits: withoutZero(limits),
    defaults: withoutZero({ ...defaultsOf(core), ...limits }),
    cgroupRequired: settings['sandbox.cgroup_required'],
    env: {},
    gitUser: { name: settings['git.user_name'], email: settings['git.user_email'] },
    // Without walls a command is what its caller is.
    uid: isolation === 'none' ? undefined : settings['sandbox.first_uid'] + slot,
    proxyUid: settings['sandbox.first_uid'] - 1 - slot,
  }
}

/** Refuses walls that cannot be had, before anything is fetched or made that they are to be around. */
export async function assertEnforceable(core: Core, box: BoxWalls, profile: string): Promise<void> {
  const driver = await driverOf(core, box.isolation)
  await driver.check(wallsOf(core, box, { profile, slot: 0 }), core.storage.capabilities)
}

/**
 * Names in the tree that a sandbox may read and not write.
 *
 * @param ofAgent those that its agent's profile has besides; undefined if there is none in it
 */
export function readOnlyNames(
  core: Core,
  { profile }: Pick<Workspace, 'profile'>,
  ofAgent: readonly string[] | undefined,
): string[] {
  const { content } = profileOf(profile)
  const usual = listOf(core.config.settings['sandbox.protect'])
  return [...new Set([...usual, ...(ofAgent === undefined ? [] : [...configuration, ...ofAgent])])].map((name) =>
    content === '.' ? name : `${content}/${name}`,
  )
}

/** 0 is no limit. */
export const withoutZero = (limits: Limits): Limits =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value > 0))

function defaultsOf({ config: { settings } }: Core): Limits {
  return {
    memory_mb: settings['sandbox.memory_mb'],
    cpu_percent: settings['sandbox.cpu_percent'],
    processes: settings['sandbox.processes'],
    open_files: settings['sandbox.open_files'],
    file_size_mb: settings['sandbox.file_size_mb'],
    wall_ms: settings['sandbox.timeout_ms'],
    output_mb: settings['sandbox.output_mb'],
  }
}

/** The driver, if it works here. What was asked for and cannot be had is an error, never something weaker. */
export async function driverOf(core: Core, isolation: Isolation): Promise<SandboxDriver> {
  const driver = await core.sandboxes(isolation)
  const probe = await driver.probe()
  if (probe.usable) return driver
  throw new AwError(
    'sandbox_unenforceable',
    `The isolation ${isolation} cannot be had here: ${probe.reasons.join('; ')}`,
    {
      hint: probe.hint ?? fixes.doctor,
      data: { isolation, reasons: probe.reasons },
    },
  )
}

export const boxGone = (workspace: Workspace): AwError =>
  new AwError('sandbox_gone', `The sandbox of ${nameOf(workspace)} has ended, though nobody stopped it`, {
    hint: `Start it again: aw start ${nameOf(workspace)}`,
    data: { id: workspace.id },
  })
