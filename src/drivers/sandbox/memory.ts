import { AwError } from '../../domain/errors.ts'
import { splitPath } from '../../domain/paths.ts'
import type { Exit, Isolation } from '../../domain/sandbox/spec.ts'
import type { Owner } from '../../domain/workspace/state.ts'
import type {
  Command,
  Execution,
  OutputChunk,
  Plan,
  Sandbox,
  SandboxDriver,
  SandboxSpec,
} from '../../ports/sandbox-driver.ts'
import type { Disk } from '../files/memory-disk.ts'
import { programs } from './memory-programs.ts'

/** The sandboxes of a machine in memory, whoever looks at them. */
export interface MemoryBoxes {
  readonly boxes: Map<string, Box>
}

interface Box {
  readonly spec: SandboxSpec
  readonly isolation: Isolation
  readonly running: Set<AbortController>
}

interface Options {
  readonly disk: Disk
  readonly isolation: Isolation
  readonly machine: MemoryBoxes
  /** A process of the machine that holds a sandbox. */
  readonly supervisor: () => Owner
}

export const memoryBoxes = (): MemoryBoxes => ({ boxes: new Map() })

/** Walls around nothing: the shortest driver that keeps the contract, over the few programs of a machine in memory. */
export function memorySandboxes({ disk, isolation, machine: { boxes }, supervisor }: Options): SandboxDriver {
  const plan: Plan = { grades: {}, notes: [] }
  const end = (name: string): void => {
    for (const command of boxes.get(name)?.running ?? []) command.abort()
    boxes.delete(name)
  }
  function connected(name: string, box: Box): Sandbox {
    return {
      name,
      owner: supervisor(),
      plan,
      exec: (command) => execute(disk, box, command),
      connect: async () => {
        throw new AwError('unsupported', 'A machine in memory has no network')
      },
      async put(file, content, mode) {
        const path = `/boxes/${name}/${file}`
        disk.put(path, { kind: 'file', bytes: Buffer.from(content), mode, mtime: disk.now() })
        return path
      },
      freeze: async () => undefined,
      thaw: async () => undefined,
      status: async () => ({ commands: box.running.size, processes: box.running.size }),
      stop: async () => end(name),
      async [Symbol.asyncDispose]() {
        if (box.spec.once === true) end(name)
      },
    }
  }
  return {
    isolation,
    probe: async () => ({ usable: true, notes: ['it is in memory'] }),
    plan: async () => plan,
    async start(name, spec) {
      const box: Box = { spec, isolation, running: new Set() }
      boxes.set(name, box)
      return connected(name, box)
    },
    async find(name) {
      const box = boxes.get(name)
      return box?.isolation === isolation ? connected(name, box) : undefined
    },
    remove: async (name) => end(name),
    list: async () =>
      [...boxes].filter(([, box]) => box.isolation === isolation).map(([name]) => ({ name, alive: true })),
    async [Symbol.asyncDispose]() {},
  }
}

function execute(disk: Disk, box: Box, command: Command): Execution {
  const chunks: OutputChunk[] = []
  const life = new AbortController()
  const timeout = command.limits.wall_ms === undefined ? [] : [AbortSignal.timeout(command.limits.wall_ms)]
  const signal = AbortSignal.any([life.signal, ...timeout, ...(command.signal === undefined ? [] : [command.signal])])
  box.running.add(life)
  const began = performance.now()
  const run = async (): Promise<Exit> => {
    const [name = '', ...args] = command.argv
    const program = Object.hasOwn(programs, name) ? programs[name] : undefined
    if (program === undefined) throw new AwError('file_not_found', `There is no program ${name}`, { data: { name } })
    const cwd = `/${splitPath(`${box.spec.attachment.path}/${command.cwd}`).join('/')}`
    const write = (stream: OutputChunk['stream'], text: string | Uint8Array): void =>
      void chunks.push({ stream, data: Buffer.from(text as Uint8Array) })
    const code = await program(args, { disk, cwd, env: command.env, input: command.input, signal, write })
    return {
      code: signal.aborted ? null : code,
      signal: signal.aborted ? 'SIGKILL' : null,
      duration_ms: Math.round(performance.now() - began),
      peak_memory_bytes: 0,
      cpu_ms: 0,
      timed_out: timeout.some(({ aborted }) => aborted),
      output_cut: false,
    }
  }
  const exit = run().finally(() => box.running.delete(life))
  return { exit, output: afterwards(exit, chunks) }
}

async function* afterwards(exit: Promise<Exit>, chunks: readonly OutputChunk[]): AsyncGenerator<OutputChunk> {
  await exit.catch(() => undefined)
  yield* chunks
}
