import { closeSync, existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../../domain/errors.ts'
import { counted } from '../../../../sys/fs/crash-points.ts'
import { hasCode, ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { monotonicMs } from '../../../../sys/home/monotonic.ts'
import { native } from '../../../../sys/syscalls/native.ts'
import { control, readControl } from './control.ts'
import type { CgroupHierarchies, Controller } from './hierarchies.ts'

/** What a group is held to; what is not named is not limited. */
export interface GroupLimits {
  readonly memoryBytes?: number | undefined
  /** Of one core: 150 is one and a half. */
  readonly cpuPercent?: number | undefined
  readonly processes?: number | undefined
}

/** The directories of one group: one in version 2, one for each controller in version 1. */
export const groupDirectories = ({ places }: CgroupHierarchies, name: string): string[] => [
  ...new Set(Object.values(places).map(({ path }) => join(path, name))),
]

/**
 * The files by which a process with one thread enters a group. In version 1 `tasks`: the kernel moves the writer itself at
 * once, and for `cgroup.procs` waits until nobody on the machine forks or ends, which takes some 10 ms.
 */
export const entryFiles = ({ places }: CgroupHierarchies, name: string): string[] => [
  ...new Set(
    Object.values(places).map(({ version, path }) => join(path, name, version === 1 ? 'tasks' : 'cgroup.procs')),
  ),
]

/** Makes the group, empty, with its limits in force before anybody is in it. Safe to repeat. */
export function makeGroup({ places }: CgroupHierarchies, name: string, limits: GroupLimits): void {
  for (const [controller, place] of Object.entries(places) as [Controller, { version: 1 | 2; path: string }][]) {
    const directory = join(place.path, name)
    ignoreErrors(['EEXIST'], () => hostFs.mkdirSync(directory, 0o755))
    for (const [file, value, optional] of settings(controller, place.version, limits)) {
      if (optional && !existsSync(join(directory, file))) continue
      control.write(join(directory, file), value)
    }
  }
}

type Setting = readonly [file: string, value: string, optional?: true]

const periodUs = 100_000

function settings(controller: Controller, version: 1 | 2, limits: GroupLimits): Setting[] {
  const { memoryBytes, cpuPercent, processes } = limits
  if (controller === 'memory' && memoryBytes !== undefined) {
    const bytes = String(memoryBytes)
    return version === 2
      ? [
          ['memory.max', bytes],
          ['memory.swap.max', '0', true],
        ]
      : [
          ['memory.limit_in_bytes', bytes],
          ['memory.memsw.limit_in_bytes', bytes, true],
        ]
  }
  if (controller === 'cpu' && cpuPercent !== undefined) {
    const quota = String(Math.max(1000, Math.round((cpuPercent * periodUs) / 100)))
    return version === 2
      ? [['cpu.max', `${quota} ${periodUs}`]]
      : [
          ['cpu.cfs_period_us', String(periodUs)],
          ['cpu.cfs_quota_us', quota],
        ]
  }
  return controller === 'pids' && processes !== undefined ? [['pids.max', String(processes)]] : []
}

export interface GroupFacts {
  readonly processes: number
  readonly peakMemoryBytes: number | null
  /** How often the kernel ended a process because the group had no memory left. */
  readonly outOfMemory: number
}

/** What the kernel has counted in a group so far. */
export function groupFacts(directories: readonly string[]): GroupFacts {
  const find = (...files: string[]): string | undefined =>
    directories.flatMap((directory) => files.map((file) => readControl(join(directory, file)))).find((text) => text)
  const peak = find('memory.peak', 'memory.max_usage_in_bytes')
  const kills = find('memory.events', 'memory.oom_control')?.match(/^oom_kill (\d+)$/m)?.[1]
  return {
    processes: processesIn(directories).length,
    peakMemoryBytes: peak === undefined ? null : Number(peak),
    outOfMemory: Number(kills ?? 0),
  }
}

/**
 * Ends everything in a group and removes it. Absent = done; safe to repeat after a crash. `timeout` if something in it
 * does not end: a process that waits for a broken disk, say.
 */
export async function removeGroup(directories: readonly string[], timeoutMs: number): Promise<void> {
  const until = monotonicMs() + timeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    const left = directories.filter((directory) => !removeEmpty(directory))
    if (left.length === 0) return
    for (const directory of left) killAll(directory)
    if (monotonicMs() > until) {
      throw new AwError('timeout', `What runs in ${left[0]} did not end within ${timeoutMs} ms`, {
        hint: 'Look at its processes with ps; one in state D waits for a disk',
        data: { processes: processesIn(left).slice(0, 20) },
      })
    }
    await sleep(pauseMs)
  }
}

const isOurs = (directory: string): boolean => basename(dirname(directory)) === 'aw'

function removeEmpty(directory: string): boolean {
  if (!isOurs(directory)) throw new AwError('internal', `${directory} is no group of ours`)
  return (
    ignoreErrors(['EBUSY', 'ENOTEMPTY'], () => ignoreErrors(['ENOENT'], () => hostFs.rmdirSync(directory)) ?? true) ??
    false
  )
}

function killAll(directory: string): void {
  if (!existsSync(directory)) return
  const atOnce = join(directory, 'cgroup.kill')
  if (existsSync(atOnce)) return control.write(atOnce, '1')
  for (const pid of processesIn([directory])) endings.kill(directory, pid)
}

const endings = counted({
  /** By a handle, after which it is looked again: the number may be another process's by now. */
  kill(directory: string, pid: number): void {
    try {
      const calls = native()
      if (calls === undefined) return void process.kill(pid, 'SIGKILL')
      const handle = calls.pidfdOpen(pid)
      try {
        if (processesIn([directory]).includes(pid)) calls.pidfdSendSignal(handle, 9)
      } finally {
        closeSync(handle)
      }
    } catch (error) {
      if (!hasCode(error, 'ESRCH', 'EINVAL')) throw error
    }
  },
})

const processesIn = (directories: readonly string[]): number[] => [
  ...new Set(
    directories.flatMap((directory) =>
      (readControl(join(directory, 'cgroup.procs')) ?? '').split('\n').filter(Boolean).map(Number),
    ),
  ),
]
