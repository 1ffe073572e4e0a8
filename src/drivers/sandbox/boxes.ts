import { createHash } from 'node:crypto'
import type { Isolation } from '../../domain/sandbox/spec.ts'
import type { Probe, SandboxDriver, SandboxSpec, SizeWatch } from '../../ports/sandbox-driver.ts'
import type { Tag } from './box/frames.ts'
import { closeIdle } from './box/idle.ts'
import { type BoxRecord, boxDirectory, boxNames, readRecord, wasOverLimit } from './box/record.ts'
import { isAlive, removeBox } from './box/remove.ts'
import { type BoxPlan, findBox, startBox } from './box/start/start.ts'
import { entrances, groupDirectories } from './walls/cgroups/group.ts'
import type { Machine } from './keepers.ts'
import { groupLimits, type PlannedLimits, rlimitsOf } from './limits.ts'
import { openSandbox } from './sandbox.ts'

export interface BoxOptions {
  /** Where each box has its directory: ours alone, on a local file system. Made if need be. */
  readonly run: string
  /** The program that lets a box reach the hosts of its allow-list, to which the path of its settings is added. */
  readonly proxy?: readonly string[] | undefined
}

/** What is special about a level; the rest is the same for all. */
export interface Level {
  readonly isolation: Isolation
  readonly machine: Machine
  probe(): Promise<Probe>
  /** Everything that can be said before anything is made. */
  prepare(spec: SandboxSpec): Promise<Prepared>
}

export interface Prepared extends Disposable, Pick<BoxPlan, 'makesPlaceholders' | 'tags'> {
  readonly planned: PlannedLimits
  /** @param directory the box's own */
  about(directory: string): Pick<BoxRecord, 'tree' | 'inside' | 'files' | 'env' | 'mountedIn' | 'placeholders'>
}

export function boxDriver({ run }: BoxOptions, level: Level): SandboxDriver {
  const { isolation, machine } = level

  return {
    isolation,
    probe: () => level.probe(),
    async plan(spec) {
      using prepared = await level.prepare(spec)
      return prepared.planned.plan
    },
    async start(name, spec, { signal } = {}) {
      boxDirectory(run, name)
      using prepared = await level.prepare(spec)
      const plan = planOf(name, spec, prepared)
      return openSandbox(run, name, await startBox(run, name, plan, signal), true)
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
    [Symbol.asyncDispose]: () => closeIdle(run),
  }

  /** What a crash has left before its record was written is of any level: whoever looks may remove it. */
  function isOfLevel(name: string): boolean {
    return (readRecord(boxDirectory(run, name))?.isolation ?? isolation) === isolation
  }

  function planOf(name: string, spec: SandboxSpec, prepared: Prepared): BoxPlan {
    const { plan, limits } = prepared.planned
    const group = groupOf(name, prepared.planned)
    return {
      makesPlaceholders: prepared.makesPlaceholders,
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
        ...prepared.about(boxDirectory(run, name)),
      },
      tags: (directory, held, placeholders) => [
        ...prepared.tags(directory, held, placeholders),
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
  ...entrances(places, name).map((file) => ['c', file] as const),
  ...groupDirectories(places, name).map((path) => ['C', path] as const),
]
