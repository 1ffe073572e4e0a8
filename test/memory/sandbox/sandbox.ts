import { AwError, toAwError } from '../../../src/domain/errors.ts'
import { parsePath } from '../../../src/domain/paths.ts'
import type { Exit, Grade, Isolation, LimitName } from '../../../src/domain/sandbox/spec.ts'
import type { Owner } from '../../../src/domain/workspace/state.ts'
import type {
  Command,
  Execution,
  KeptCommand,
  Plan,
  Sandbox,
  SandboxDriver,
  SandboxSpec,
} from '../../../src/ports/sandbox-driver.ts'
import { failed } from '../../../src/drivers/sandbox/box/job.ts'
import type { Disk } from '../disk.ts'
import { assertBrokers } from '../../../src/drivers/sandbox/brokers.ts'
import { keepChunk, keepEnd, keptAt, type KeptCommands } from '../kept-logs.ts'
import { commandLimits, planLimits, type PlannedLimits } from '../../../src/drivers/sandbox/limits.ts'
import { memoryExecution } from './execution.ts'
import { programOf } from './programs.ts'

export interface MemorySandboxOptions {
  readonly disk: Disk
  readonly isolation: Isolation
  /** The boxes that live, for all who look. */
  readonly machine: MemoryBoxes
  /** A process of the machine that holds a box. */
  readonly supervisor: () => Owner
  /** Who keeps a limit, where it is not as on a machine with cgroups. */
  readonly grades?: Readonly<Partial<Record<LimitName, Grade>>> | undefined
}

/** The boxes of a machine in memory, whoever looks at them. */
export interface MemoryBoxes {
  readonly boxes: Map<string, MemoryBox>
  readonly kept: KeptCommands
}

export const memoryBoxes = (): MemoryBoxes => ({ boxes: new Map(), kept: new Map() })

interface MemoryBox {
  readonly isolation: Isolation
  readonly spec: SandboxSpec
  readonly planned: PlannedLimits
  readonly files: Map<string, Uint8Array>
  readonly running: Set<AbortController>
  /** Those that are kept, by directory. */
  readonly kept: Map<string, AbortController>
  /** Fires when the box ends. */
  readonly over: AbortController
  frozen: PromiseWithResolvers<void> | undefined
}

/**
 * The oracle: boxes without walls in the memory of one process, around trees of a disk in memory, over the few programs
 * of `memory-programs.ts`.
 */
export function memorySandboxes(options: MemorySandboxOptions): SandboxDriver {
  const { disk, isolation, supervisor } = options
  const world = options.machine.boxes
  const grades = { ...withGroups, ...options.grades }
  const plans = new WeakMap<Plan, { readonly spec: SandboxSpec; readonly planned: PlannedLimits }>()
  const planOf = (spec: Omit<SandboxSpec, 'attachment'>): PlannedLimits => {
    assertBrokers(isolation, spec)
    return planLimits(spec, { grades, problems: { cpu_percent: 'there is no cgroup' } })
  }

  const endBox = (name: string): void => {
    const box = world.get(name)
    world.delete(name)
    box?.over.abort()
    for (const command of box?.running ?? []) command.abort()
    box?.frozen?.resolve()
  }

  function open(name: string, box: MemoryBox, isOurs: boolean): Sandbox {
    let froze = false
    const thaw = (): void => {
      if (froze) box.frozen?.resolve()
      if (froze) box.frozen = undefined
      froze = false
    }
    const alive = (): void => {
      if (box.over.signal.aborted) throw gone()
    }
    return {
      name,
      owner: supervisor(),
      plan: box.planned.plan,
      exec: (command) => exec(box, command),
      keep: (command) => keep(name, box, command),
      async signalKept(directory, signal) {
        alive()
        const killed = box.kept.get(directory)
        if (signal !== 0) killed?.abort()
        return killed !== undefined
      },
      async connect(port) {
        alive()
        throw new AwError('file_not_found', `Nothing in the sandbox listens on port ${port} at its loopback`)
      },
      async put(file, content) {
        alive()
        const path = pathOf(file)
        box.files.set(path, Uint8Array.from(content))
        return path
      },
      async take(file) {
        alive()
        box.files.delete(pathOf(file))
      },
      async freeze() {
        alive()
        if (box.frozen !== undefined) throw new AwError('aw_command_failed', 'The sandbox is frozen already')
        box.frozen = Promise.withResolvers<void>()
        froze = true
      },
      async thaw() {
        alive()
        thaw()
      },
      async status() {
        alive()
        return { commands: box.running.size, processes: box.running.size }
      },
      async limitSize() {
        alive()
      },
      async stop() {
        endBox(name)
      },
      async [Symbol.asyncDispose]() {
        thaw()
        if (box.spec.once === true && isOurs) endBox(name)
      },
    }
  }

  function exec(box: MemoryBox, command: Command): Execution {
    try {
      if (box.over.signal.aborted) throw gone()
      const { rlimits: _, ...limits } = commandLimits({ limits: box.planned.limits, rlimits: {} }, command.limits)
      const around = {
        disk,
        tree: box.spec.attachment.path,
        cwd: directoryOf(disk, box.spec, command.cwd),
        mount: box.spec.mount,
        env: { ...box.spec.env, ...command.env },
        files: box.files,
        thawed: async () => box.frozen?.promise,
      }
      return memoryExecution({ program: programOf(command.argv), around, command, limits, running: box.running })
    } catch (error) {
      return failed(toAwError(error))
    }
  }

  async function keep(name: string, box: MemoryBox, command: KeptCommand): Promise<{ exit: Promise<Exit> }> {
    const { directory, endsBox } = command
    // One that cannot be started is told at once.
    programOf(command.argv)
    directoryOf(disk, box.spec, command.cwd)
    const at = keptAt(options.machine.kept, directory)
    const killed = new AbortController()
    const { output, exit } = exec(box, { ...command, signal: killed.signal })
    box.kept.set(directory, killed)
    const over = (async () => {
      for await (const chunk of output) keepChunk(at, chunk)
      const end = await exit
      box.kept.delete(directory)
      // A box that ended under it saw no end of it.
      if (!box.over.signal.aborted) keepEnd(at, end)
      if (endsBox) endBox(name)
      return end
    })()
    over.catch(() => undefined)
    return { exit: over }
  }

  return {
    isolation,
    probe: async () => ({ usable: true, notes: [] }),
    async check(spec) {
      planOf(spec)
    },
    async plan(spec) {
      const planned = planOf(spec)
      plans.set(planned.plan, { spec, planned })
      return planned.plan
    },
    async start(name, plan, { signal } = {}) {
      const known = plans.get(plan)
      if (known === undefined) throw new AwError('invalid_input', 'This driver has not planned this sandbox')
      if (signal?.aborted) throw new AwError('aborted', 'Starting the sandbox was cancelled', { cause: signal.reason })
      if (world.has(name)) throw new AwError('invalid_state', `The sandbox ${name} is running already`)
      const { spec, planned } = known
      if (disk.directory(spec.attachment.path) === undefined) {
        throw new AwError('file_not_found', 'There is no such file or directory: the workspace itself')
      }
      const box: MemoryBox = {
        isolation,
        spec,
        planned,
        files: new Map(),
        running: new Set(),
        kept: new Map(),
        over: new AbortController(),
        frozen: undefined,
      }
      world.set(name, box)
      return open(name, box, true)
    },
    async find(name) {
      const box = world.get(name)
      return box?.isolation === isolation ? open(name, box, false) : undefined
    },
    remove: async (name) => endBox(name),
    placeholders: async () => [],
    endedBySize: async () => false,
    list: async () =>
      [...world].filter(([, box]) => box.isolation === isolation).map(([name]) => ({ name, alive: true })),
    async [Symbol.asyncDispose]() {},
  }
}

function directoryOf(disk: Disk, { attachment, mount }: SandboxSpec, cwd: string): string {
  const { names } = parsePath(cwd, { roots: [mount] })
  const path = [attachment.path, ...names].join('/')
  if (disk.directory(path) !== undefined) return path
  throw disk.at(path) === undefined
    ? new AwError('file_not_found', `There is no such file or directory: ${cwd}`)
    : new AwError('not_a_directory', `It is not a directory: ${cwd}`)
}

function pathOf(file: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}$/.test(file)) return `/run/aw/files/${file}`
  throw new AwError('invalid_name', `No name: ${file}`)
}

const gone = (): AwError => new AwError('sandbox_gone', 'The sandbox has ended, and what ran in it has ended with it')

const withGroups: Readonly<Record<LimitName, Grade>> = {
  memory_mb: 'cgroup',
  cpu_percent: 'cgroup',
  processes: 'cgroup',
  open_files: 'rlimit',
  file_size_mb: 'rlimit',
  wall_ms: 'supervisor',
  output_mb: 'supervisor',
}
