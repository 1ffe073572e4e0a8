import { AwError } from '../../domain/errors.ts'
import { fixes } from '../../domain/sandbox/fixes.ts'
import { type Grade, type Grades, limitNames, type LimitName, type Limits } from '../../domain/sandbox/spec.ts'
import type { Plan, SandboxSpec } from '../../ports/sandbox-driver.ts'
import type { GroupLimits } from './walls/cgroups/group.ts'

/** Who would keep each limit on this level of this machine, and why not more. */
export interface LimitEnforcers {
  readonly grades: Readonly<Record<LimitName, Grade>>
  readonly problems: Readonly<Partial<Record<LimitName, string | undefined>>>
}

export interface PlannedLimits {
  readonly plan: Plan
  /** What is kept. */
  readonly limits: Limits
}

type Asked = Pick<SandboxSpec, 'limits' | 'defaults' | 'cgroupRequired'>

/** Matches what is asked for with who can keep it: what was set is kept or refused, the rest is kept as well as it can be. */
export function planLimits(spec: Asked, keepers: LimitEnforcers): PlannedLimits {
  const wanted: Limits = { ...spec.defaults, ...spec.limits }
  const set = limitNames.flatMap((name) => (wanted[name] === undefined ? [] : [[name, wanted[name]] as const]))
  for (const [name, value] of set) assertLimit(name, value)
  const kept = set.filter(([name]) => keepers.grades[name] !== 'none')
  const unkept = set.filter(([name]) => keepers.grades[name] === 'none').map(([name]) => name)
  const refused = [
    ...unkept.filter((name) => spec.limits[name] !== undefined),
    ...(spec.cgroupRequired
      ? set.map(([name]) => name).filter((name) => isOfGroup(name) && keepers.grades[name] !== 'cgroup')
      : []),
  ]
  if (refused.length > 0) throw unenforceable([...new Set(refused)], spec.cgroupRequired, keepers)
  return {
    plan: {
      grades: Object.fromEntries(set.map(([name]) => [name, keepers.grades[name]])),
      notes: unkept.map((name) => `nobody keeps ${name} here: ${keepers.problems[name]}`),
    },
    limits: Object.fromEntries(kept),
  }
}

const isOfGroup = (name: LimitName): boolean => ['memory_mb', 'cpu_percent', 'processes'].includes(name)

function assertLimit(name: LimitName, value: number): void {
  if (Number.isSafeInteger(value) && value > 0 && value <= 2 ** 40) return
  throw new AwError('invalid_input', `The limit ${name} is a whole number above 0, not ${String(value)}`, {
    data: { field: name },
  })
}

function unenforceable(names: readonly LimitName[], cgroupRequired: boolean, { problems }: LimitEnforcers): AwError {
  const reasons = [...new Set(names.flatMap((name) => problems[name] ?? []))]
  return new AwError('sandbox_unenforceable', `Nobody can keep ${names.join(', ')} here: ${reasons.join('; ')}`, {
    hint: `${fixes.cgroups}; or ${cgroupRequired ? 'set sandbox.cgroup_required to false' : 'leave the limit out'}`,
    data: { limits: names, reasons },
  })
}

const mebibyte = 1024 * 1024
/** Processes of the box's own that count as well: those of the walls, and process 1. */
const ownProcesses = 4

/** What the cgroup of a box is held to. */
export function groupLimits(limits: Limits, { grades }: Plan): GroupLimits {
  const of = (name: LimitName): number | undefined => (grades[name] === 'cgroup' ? limits[name] : undefined)
  const [memory, processes] = [of('memory_mb'), of('processes')]
  return {
    memoryBytes: memory === undefined ? undefined : memory * mebibyte,
    cpuPercent: of('cpu_percent'),
    processes: processes === undefined ? undefined : processes + ownProcesses,
  }
}

/** What each process of a box is held to. */
export function rlimitsOf(limits: Limits, { grades }: Plan): Record<string, number> {
  const of = (name: LimitName): number | undefined => (grades[name] === 'rlimit' ? limits[name] : undefined)
  const [memory, processes, files, size] = [of('memory_mb'), of('processes'), of('open_files'), of('file_size_mb')]
  return {
    core: 0,
    ...(memory === undefined ? {} : { data: memory * mebibyte }),
    ...(processes === undefined ? {} : { nproc: processes + ownProcesses }),
    ...(files === undefined ? {} : { nofile: files }),
    ...(size === undefined ? {} : { fsize: size * mebibyte }),
  }
}

/** What one command may be held to beside its box; the rest is of the box as a whole. */
const ofCommands: readonly LimitName[] = ['memory_mb', 'open_files', 'file_size_mb', 'wall_ms', 'output_mb']

export interface CommandLimits {
  readonly rlimits: Readonly<Record<string, number>>
  readonly wallMs?: number | undefined
  readonly outputBytes?: number | undefined
}

/** The box's own limits and those of a command: the smaller of the two counts. */
export function commandLimits(
  box: { readonly limits: Limits; readonly rlimits: Readonly<Record<string, number>> },
  command: Limits,
): CommandLimits {
  for (const name of limitNames) {
    const value = command[name]
    if (value === undefined) continue
    assertLimit(name, value)
    if (ofCommands.includes(name)) continue
    throw new AwError('sandbox_unenforceable', `${name} is held for a whole sandbox, not for one command`, {
      hint: 'Set it when the sandbox is started',
      data: { limits: [name] },
    })
  }
  const grades = Object.fromEntries(ofCommands.map((name) => [name, 'rlimit'])) as Grades
  const own = rlimitsOf(command, { grades, notes: [] })
  const merged = { ...box.rlimits }
  for (const [name, value] of Object.entries(own)) merged[name] = Math.min(value, merged[name] ?? Infinity)
  const output = smaller(box.limits.output_mb, command.output_mb)
  return {
    rlimits: merged,
    wallMs: smaller(box.limits.wall_ms, command.wall_ms),
    outputBytes: output === undefined ? undefined : output * mebibyte,
  }
}

const smaller = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other)
