import { AwError } from '../../src/domain/errors.ts'
import { maxTimerMs } from '../../src/domain/text/max-values.ts'
import type { Owner } from '../../src/domain/workspace/state.ts'
import type { Host, ProcessUse } from '../../src/ports/host.ts'
import { parentOf, type Disk } from './disk.ts'

/** A machine in memory: hosts made by it are its processes, which live until they are ended. */
export interface Machine {
  /** A new process. */
  host(): Host
  /** The process ends as with `kill -9`: its locks are free, its operations stay where they are. */
  end(owner: Owner): void
  /** What `users` answers for a directory and everything below it. */
  use(directory: string, process: ProcessUse): void
  leave(directory: string): void
  /** How many wait for a lock that another holds. */
  waiting(): number
}

export function memoryMachine(disk: Disk): Machine {
  const living = new Set<number>()
  const locks = new Map<string, { pid: number; wake: Set<() => void> }>()
  const uses = new Map<string, ProcessUse>()
  let lastPid = 0
  const isAlive = (owner: Owner): boolean => living.has(owner.pid)
  const release = (name: string): void => {
    const holder = locks.get(name)
    locks.delete(name)
    for (const wake of holder?.wake ?? []) wake()
  }
  const end = ({ pid }: Owner): void => {
    living.delete(pid)
    for (const [name, holder] of locks) if (holder.pid === pid) release(name)
  }

  function start(): Host {
    const pid = ++lastPid
    living.add(pid)
    const own: Owner = { host: 'memory', boot_id: 'memory', pid_namespace: 'memory', pid, start_time: `${pid}` }
    const published = (path: string): string | undefined => {
      const node = disk.at(path)
      return node?.kind === 'symlink' ? node.target : undefined
    }
    return {
      owner: () => own,
      liveness: (owner) => (isAlive(owner) ? 'alive' : 'dead'),
      async kill(owner, { confirm }) {
        if (await confirm()) end(owner)
      },
      async lock(name, { timeoutMs, signal }) {
        const until = performance.now() + timeoutMs
        for (let holder = locks.get(name); holder !== undefined; holder = locks.get(name)) {
          if (signal?.aborted)
            throw new AwError('aborted', 'Waiting for a lock was cancelled', { cause: signal.reason })
          const left = until - performance.now()
          if (left <= 0) return undefined
          await woken(holder.wake, left, signal)
        }
        if (signal?.aborted) throw new AwError('aborted', 'Waiting for a lock was cancelled', { cause: signal.reason })
        const mine = { pid, wake: new Set<() => void>() }
        locks.set(name, mine)
        const free = (): void => {
          if (locks.get(name) === mine) release(name)
        }
        return { retire: free, [Symbol.dispose]: free }
      },
      pause: (ms, signal) => woken(new Set(), ms, signal),
      users: async (directory) => [...uses].filter(([used]) => isBelow(used, directory)).map(([, process]) => process),
      async publish(path, target) {
        if (published(path) === target) return
        if (disk.at(path) !== undefined) {
          throw new AwError('file_exists', `There is something at ${path} that aw did not make`, { data: { path } })
        }
        disk.put(path, { kind: 'symlink', target, mtime: disk.now() })
      },
      async unpublish(path, target, base) {
        if (published(path) === target) disk.remove(path)
        for (let up = parentOf(path); up !== base && isBelow(up, base); up = parentOf(up)) {
          if (disk.directory(up)?.entries.size !== 0) break
          disk.remove(up)
        }
      },
      published: async (path) => published(path),
      copyIn: outside,
      copyOut: outside,
      assertTarget: () => undefined,
      async gitInit(directory) {
        const head = {
          kind: 'file',
          bytes: Buffer.from('ref: refs/heads/main\n'),
          mode: 0o644,
          mtime: disk.now(),
        } as const
        disk.put(`${directory}/.git/HEAD`, head)
      },
    }
  }

  return {
    host: start,
    end,
    use: (directory, process) => void uses.set(directory, process),
    leave: (directory) => void uses.delete(directory),
    waiting: () => [...locks.values()].reduce((sum, { wake }) => sum + wake.size, 0),
  }
}

const isBelow = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`)

/** Until one of them calls, the time is over or the signal fires. */
async function woken(by: Set<() => void>, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.min(ms, maxTimerMs))
  by.add(resolve)
  signal?.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
  by.delete(resolve)
}

const outside = async (): Promise<never> => {
  throw new AwError('unsupported', 'A machine in memory has no files besides its trees')
}
