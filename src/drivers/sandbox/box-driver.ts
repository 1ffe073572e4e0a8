import { createHash } from 'node:crypto'
import { AwError } from '../../domain/errors.ts'
import { fixes } from '../../domain/sandbox/fixes.ts'
import type { Isolation } from '../../domain/sandbox/spec.ts'
import type { Plan, Probe, SandboxDriver, SandboxSpec, SizeWatch } from '../../ports/sandbox-driver.ts'
import type { Tag } from './box/frames.ts'
import { closeIdleConnections } from './box/idle-connections.ts'
import { type BoxRecord, boxDirectory, boxNames, readRecord, wasOverLimit } from './box/record.ts'
import { isAlive, removeBox } from './box/remove.ts'
import { type BoxPlan, findBox, startBox } from './box/start/start.ts'
import { entryFiles, groupDirectories } from './walls/cgroups/group.ts'
import type { MachineLimits } from './limit-enforcers.ts'
import { groupLimits, type PlannedLimits, rlimitsOf } from './limits.ts'
import { probeByStarting } from './probe.ts'
import { openSandbox } from './sandbox.ts'

export interface BoxOptions {
  /** Where each box has its directory: ours alone, on a local file system. Made if need be. */
  readonly run: string
  /** The program that lets a box reach the hosts of its allow-list, to which the path of its settings is added. */
  readonly proxy?: readonly string[] | undefined
}

/** What is special about a level; the rest is the same for all. */
export interface IsolationLevel<Tools> {
  readonly isolation: Isolation
  readonly machine: MachineLimits
  /** Looks for what its walls are made with, in the directory for the boxes too. */
  find(): Promise<FoundTools<Tools>>
  /** Refuses what it cannot keep, whatever is in the tree. */
  check: (...args: Parameters<SandboxDriver['check']>) => void
  /** Decides everything, and makes nothing. */
  plan(spec: SandboxSpec, tools: Tools): LevelPlan
}

/** What the walls of a level are made with on this machine, or why there is nothing. */
export type FoundTools<Tools> =
  | {
      readonly usable: true
      readonly tools: Tools
      /** A program among them, beside our own. */
      readonly program?: string | undefined
      readonly notes: readonly string[]
    }
  | Extract<Probe, { usable: false }>

export interface LevelPlan extends Pick<BoxPlan, 'open'> {
  readonly planned: PlannedLimits
  /** With the level's own environment. @param directory the box's own */
  about(directory: string): Pick<BoxRecord, 'tree' | 'inside' | 'files' | 'env' | 'mountedIn'>
}

export function boxDriver<Tools>({ run }: BoxOptions, level: IsolationLevel<Tools>): SandboxDriver {
  const { isolation, machine } = level
  /** By the value that the caller has of each. */
  const plans = new WeakMap<Plan, { readonly spec: SandboxSpec; readonly decided: LevelPlan }>()
  /** As of the last probe: whoever plans has mostly just asked whether it works here. */
  let latest: FoundTools<Tools> | undefined

  const driver: SandboxDriver = {
    isolation,
    async probe() {
      latest = await level.find()
      return latest.usable ? probeByStarting(driver, run, latest.program, latest.notes) : latest
    },
    async check(spec, trees) {
      await tools()
      level.check(spec, trees)
    },
    async plan(spec) {
      const decided = level.plan(spec, await tools())
      plans.set(decided.planned.plan, { spec, decided })
      return decided.planned.plan
    },
    async start(name, plan, options = {}) {
      boxDirectory(run, name)
      const planned = plans.get(plan)
      if (planned === undefined) throw new AwError('invalid_input', 'This driver has not planned this sandbox')
      const box = boxPlan(name, planned.spec, planned.decided)
      return openSandbox(run, name, await startBox(run, name, box, options), true)
    },
    async find(name) {
      const found = await findBox(run, name)
      if (found === undefined || found.record.isolation === isolation)
        return found && openSandbox(run, name, found, false)
      await found.connection[Symbol.asyncDispose]()
      return undefined
    },
    remove: (name) => removeBox(run, name),
    placeholders: async (name) => readRecord(boxDirectory(run, name))?.placeholders.map(({ path }) => path) ?? [],
    endedBySize: async (name) => wasOverLimit(boxDirectory(run, name)),
    list: async () =>
      boxNames(run)
        .filter((name) => isOfLevel(name))
        .map((name) => ({ name, alive: isAlive(boxDirectory(run, name)) })),
    [Symbol.asyncDispose]: () => closeIdleConnections(run),
  }
  return driver

  async function tools(): Promise<Tools> {
    const found = latest?.usable === true ? latest : (latest = await level.find())
    if (found.usable) return found.tools
    throw new AwError('sandbox_unenforceable', found.reasons.join('; '), { hint: found.hint ?? fixes.doctor })
  }

  /** What a crash has left before its record was written is of any level: whoever looks may remove it. */
  function isOfLevel(name: string): boolean {
    return (readRecord(boxDirectory(run, name))?.isolation ?? isolation) === isolation
  }

  function boxPlan(name: string, spec: SandboxSpec, decided: LevelPlan): BoxPlan {
    const { plan, limits } = decided.planned
    const group = groupOf(name, decided.planned)
    const { env, ...about } = decided.about(boxDirectory(run, name))
    return {
      group,
      record: {
        isolation,
        plan,
        limits,
        rlimits: rlimitsOf(limits, plan),
        network: spec.network.mode,
        cgroups: group === undefined ? [] : groupDirectories(group.places, group.name),
        once: spec.once === true,
        sized: spec.size !== undefined,
        ...about,
        env: { ...env, PATH: [...(spec.programs ?? []), env['PATH']].join(':'), ...spec.env },
      },
      open: decided.open,
      tags: [
        ...(group === undefined ? [] : groupTags(group)),
        ...(spec.size === undefined ? [] : sizeTags(spec.size)),
        ...(spec.once === true ? ([['i', '']] as const) : []),
      ],
    }
  }

  /** Where there are cgroups every box has one: what is in it can be found and ended, whatever it has become. */
  function groupOf(name: string, { limits, plan }: PlannedLimits): BoxPlan['group'] {
    const places = machine.groups()
    if (Object.keys(places.places).length === 0) return undefined
    const home = createHash('sha256').update(run).digest('hex').slice(0, 8)
    return { places, name: `${name}.${home}`, limits: groupLimits(limits, plan) }
  }
}

const sizeTags = ({ paths, maxBytes, everyMs }: SizeWatch): Tag[] => [
  ...paths.map((path) => ['q', path] as const),
  ['Q', maxBytes],
  ['I', everyMs],
]

const groupTags = ({ places, name }: NonNullable<BoxPlan['group']>) => [
  ...entryFiles(places, name).map((file) => ['c', file] as const),
  ...groupDirectories(places, name).map((path) => ['C', path] as const),
]
