/** What takes more than it was given, and what goes on when it should not. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Limits } from '../../../../src/domain/sandbox/spec.ts'
import type { Attack, Expected, Stage } from '../attack.ts'
import { isAlive, patience, processesWith, residentKb, within } from '../host-processes.ts'

type Levels = Readonly<Record<'none' | 'guarded' | 'namespace', Expected>>

const never = { none: 'held', guarded: 'held', namespace: 'held' } as const
const always = { none: 'not held', guarded: 'not held', namespace: 'not held' } as const

const beyond = (
  name: string,
  does: string,
  limits: Limits,
  expected: Levels,
  attempt: (stage: Stage) => Promise<boolean>,
  note?: string,
): Attack => ({ name, kind: 'limits', does, note, spec: () => ({ limits }), expected, attempt })

const mebibyte = 2 ** 20

const residentMb = (marker: string): number =>
  processesWith(marker).reduce((sum, pid) => sum + residentKb(pid) / 1024, 0)

export const limitAttacks: readonly Attack[] = [
  beyond(
    'fork-bomb',
    'makes processes without end, where 30 are allowed',
    { processes: 30 },
    {
      none: { user: 'refused', root: 'held' },
      guarded: { user: 'refused', root: 'held' },
      namespace: 'held',
    },
    async (stage) => {
      await stage.hold([stage.tool, 'processes', '%marker', '200'])
      return processesWith(stage.marker).length > 50
    },
    'without a cgroup nobody could count the processes of a box that has no user namespace',
  ),
  beyond('memory-bomb', 'takes 256 MB of memory, where 64 are allowed', { memory_mb: 64 }, never, async (stage) => {
    await stage.hold([stage.tool, 'memory', '%marker', '256'])
    return residentMb(stage.marker) > 128
  }),
  beyond(
    'memory-of-many',
    'takes it with many processes, each of which takes less than is allowed',
    { memory_mb: 64 },
    {
      none: { user: 'not held', root: 'held' },
      guarded: { user: 'not held', root: 'held' },
      namespace: { user: 'not held', root: 'held' },
    },
    async (stage) => {
      await stage.hold([stage.tool, 'memory-of-many', '%marker', '40', '6'])
      return residentMb(stage.marker) > 128
    },
    'without a cgroup memory is held for each process alone; sandbox.cgroup_required refuses that',
  ),
  beyond('large-file', 'writes a file of 16 MB, where 4 are allowed', { file_size_mb: 4 }, never, async (stage) => {
    await stage.run([stage.tool, 'files', '%marker', '1', '16'])
    return largest(stage.own) > 4 * mebibyte
  }),
  beyond(
    'many-files',
    'fills the disk with many files, each of which is small enough',
    { file_size_mb: 4 },
    always,
    async (stage) => {
      await stage.run([stage.tool, 'files', '%marker', '4', '4'])
      return sizes(stage.own).reduce((sum, size) => sum + size, 0) > 12 * mebibyte
    },
    'a workspace as a whole is held by its size limit, which is of the storage',
  ),
  beyond('output-flood', 'writes 16 MB of output, where 1 is allowed', { output_mb: 1 }, never, async (stage) => {
    const { bytes } = await stage.run([stage.tool, 'flood', '%marker', '16'])
    return bytes > mebibyte
  }),
  beyond(
    'wall-time',
    'goes on after its time is over, and ignores every signal',
    { wall_ms: 300 },
    never,
    async (stage) => {
      const script = 'trap "" TERM INT HUP QUIT; : > done; while :; do sleep 0.05; done'
      await stage.hold(['sh', '-c', script, '%marker'])
      return !(await stage.held(2_000, () => processesWith(stage.marker).length === 0))
    },
  ),
  {
    name: 'outlives-box',
    kind: 'limits',
    does: 'forks twice, leaves its session, ignores every signal, and goes on when its box is stopped',
    alone: true,
    expected: never,
    async attempt(stage) {
      await stage.hold([stage.tool, 'outlive', '%marker'])
      await within(patience, () => existsSync(join(stage.own, 'done')))
      await stage.box?.sandbox.stop({ graceMs: 100 })
      return processesWith(stage.marker).some(isAlive)
    },
  },
  {
    name: 'outlives-supervisor',
    kind: 'limits',
    does: 'the same, when the supervisor of its box is killed',
    alone: true,
    expected: never,
    async attempt(stage) {
      await stage.hold([stage.tool, 'outlive', '%marker'])
      await within(patience, () => existsSync(join(stage.own, 'done')))
      if (stage.box !== undefined) process.kill(stage.box.sandbox.owner.pid, 'SIGKILL')
      return !(await stage.held(2_000, () => !processesWith(stage.marker).some(isAlive)))
    },
  },
  {
    name: 'writes-frozen',
    kind: 'limits',
    does: 'is never the same process for long, and goes on writing while its box is frozen for a snapshot',
    alone: true,
    expected: never,
    async attempt(stage) {
      const goesOn = await startChain(stage, 500)
      await (stage.box === undefined ? signalOnce(stage.marker, 'SIGSTOP') : stage.box.sandbox.freeze())
      const wrote = await goesOn()
      await stage.box?.sandbox.thaw()
      return wrote
    },
  },
  ...[500, 0].map((rest): Attack => ({
    name: `chain-outlives-${rest}`,
    kind: 'limits',
    does: `is never the same process for ${rest === 0 ? 'any time at all' : 'long'}, and goes on when its box is stopped`,
    alone: true,
    expected: never,
    async attempt(stage) {
      const goesOn = await startChain(stage, rest)
      await (stage.box === undefined ? signalOnce(stage.marker, 'SIGKILL') : stage.box.sandbox.stop({ graceMs: 0 }))
      return goesOn()
    },
  })),
]

/** Answers whether it still writes. It ends when its file is gone, wherever it is by then. */
async function startChain(stage: Stage, restMicros: number): Promise<() => Promise<boolean>> {
  const file = join(stage.own, 'count')
  // Where nobody keeps it back it need not hurry, nor leave more for the first process of the machine than that can reap.
  const rest = stage.box === undefined ? 3_000 : restMicros
  void stage.run([stage.tool, 'chain', '%marker', String(rest)]).catch(() => undefined)
  stage.defer(() => rmSync(file, { force: true }))
  await within(patience, () => existsSync(join(stage.own, 'done')))
  return async () => {
    const before = statSync(file).size
    const hasGrown = (): boolean => statSync(file).size > before
    // Where nobody keeps it back it goes on, if only when a busy machine lets it.
    if (stage.box === undefined) return within(patience, hasGrown)
    await sleep(150)
    return hasGrown()
  }
}

/** As one would who believes that what there is now is all. */
async function signalOnce(marker: string, signal: NodeJS.Signals): Promise<void> {
  const seen = processesWith(marker)
  // By then others have taken their places; on a busy machine that takes a while.
  await within(patience, () => !processesWith(marker).some((pid) => seen.includes(pid)))
  for (const pid of seen) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended, and another has taken its place.
    }
  }
}

const sizes = (directory: string): number[] =>
  readdirSync(directory)
    .filter((name) => name.startsWith('big-'))
    .map((name) => statSync(join(directory, name)).size)

const largest = (directory: string): number => Math.max(0, ...sizes(directory))
