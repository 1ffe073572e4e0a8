import { closeSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../domain/errors.ts'
import type { Owner } from '../../domain/workspace/state.ts'
import { counted } from '../fs/crash-points.ts'
import { monotonicMs } from '../home/monotonic.ts'
import { isNativeLoaded, native } from '../syscalls/native.ts'

let self: Owner | undefined

/** A process of this namespace, by its number now; undefined if there is none. */
export function processOwner(pid: number): Owner | undefined {
  const started = startTime(pid)
  return started === undefined ? undefined : { ...ownProcess(), pid, start_time: started }
}

/** The processes that a process has started itself, as far as the kernel tells. */
export const childrenOf = (pid: number): Owner[] =>
  (read(`/proc/${pid}/task/${pid}/children`) ?? '')
    .split(' ')
    .filter(Boolean)
    .flatMap((child) => processOwner(Number(child)) ?? [])

/** This process. On systems without /proc the boot and the namespace are not known, and so never proved different. */
export function ownProcess(): Owner {
  self ??= {
    host: hostname(),
    boot_id: bootId(),
    pid_namespace: pidNamespace(),
    pid: process.pid,
    start_time: startTime(process.pid) ?? '',
  }
  return self
}

export function liveness(owner: Owner): 'alive' | 'dead' | 'unknown' {
  const own = ownProcess()
  if (owner.boot_id === '' || own.boot_id === '') return 'unknown'
  // A boot id is one kernel's; a host name may change, or be another container's.
  if (owner.boot_id !== own.boot_id) return owner.host === own.host ? 'dead' : 'unknown'
  if (owner.pid_namespace !== own.pid_namespace) return 'unknown'
  const started = startTime(owner.pid)
  return started === owner.start_time ? 'alive' : 'dead'
}

interface KillOptions {
  readonly timeoutMs: number
  readonly confirm: () => Promise<boolean>
}

/** The handle is taken first, then everything is looked at again, then the handle is used: never a later process. */
export async function killProcess(owner: Owner, { timeoutMs, confirm }: KillOptions): Promise<void> {
  if (liveness(owner) === 'unknown') {
    const message = `Process ${owner.pid} runs on ${owner.host} in another namespace and cannot be reached from here`
    throw new AwError('workspace_busy', message, { hint: 'Stop it where it runs', data: { owner } })
  }
  using process = handle(owner.pid)
  if (process === undefined || liveness(owner) === 'dead' || !(await confirm())) return
  process.kill()
  const until = monotonicMs() + timeoutMs
  while (liveness(owner) === 'alive') {
    if (monotonicMs() > until) throw new AwError('timeout', `Process ${owner.pid} did not end within ${timeoutMs} ms`)
    await sleep(5)
  }
}

const signals = counted({
  byHandle: (pidfd: number): void => native()?.pidfdSendSignal(pidfd, 9),
  byNumber: (pid: number): void => void process.kill(pid, 'SIGKILL'),
})

interface Handle extends Disposable {
  /** SIGKILL to the process that had the pid when the handle was made. */
  kill(): void
}

/** `undefined` if there is no such process. Without system calls only the number is known, and a later look decides. */
function handle(pid: number): Handle | undefined {
  const calls = native()
  if (calls === undefined) return { kill: () => quietly(() => signals.byNumber(pid)), [Symbol.dispose]() {} }
  const pidfd = attempt(() => calls.pidfdOpen(pid))
  if (pidfd === undefined) return undefined
  return { kill: () => quietly(() => signals.byHandle(pidfd)), [Symbol.dispose]: () => closeSync(pidfd) }
}

function startTime(pid: number): string | undefined {
  const { state, started } = statOf(pid)
  // A zombie has ended; only its parent has not noticed.
  return state === 'Z' || state === 'X' ? undefined : started
}

/** Fields 3, 4, 9 and 22 of /proc/PID/stat; the name in field 2 may hold spaces and brackets, so count from its end. */
export function statOf(pid: number): { state?: string; parent?: string; flags?: number; started?: string } {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === undefined) return {}
  const [state = '', parent = '', ...more] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state, parent, flags: Number(more[4]), started: more[17] ?? '' }
}

/**
 * The threads of the kernel that there are now, of which a machine has more than of anything else, as far as it tells: one
 * of them starts all others. In a container nothing is seen of them.
 */
export function kernelThreads(): string[] {
  hasStarter ??= ((statOf(starter).flags ?? 0) & ofTheKernel) !== 0
  return hasStarter ? (read(`/proc/${starter}/task/${starter}/children`) ?? '').split(' ').filter(Boolean) : []
}

let hasStarter: boolean | undefined
const starter = 2
const ofTheKernel = 0x0020_0000

const bootId = (): string => (read('/proc/sys/kernel/random/boot_id') ?? '').trim()
const pidNamespace = (): string => readLink('/proc/self/ns/pid') ?? ''

export function read(file: string): string | undefined {
  return attempt(() => readFileSync(file, 'latin1'))
}

export function readLink(file: string): string | undefined {
  // Not worth being loaded for a few links.
  const calls = isNativeLoaded() ? native() : undefined
  return calls === undefined ? attempt(() => readlinkSync(file)) : calls.readLink(file)
}

/** /proc changes while it is read: what is gone or forbidden is simply not there. */
export function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

const quietly = (act: () => void): void => void attempt(act)
