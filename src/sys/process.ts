import { closeSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../domain/errors.ts'
import type { Owner } from '../domain/workspace/state.ts'
import { counted } from './crash-points.ts'
import { native } from './native.ts'

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
  const until = performance.now() + timeoutMs
  while (liveness(owner) === 'alive') {
    if (performance.now() > until)
      throw new AwError('timeout', `Process ${owner.pid} did not end within ${timeoutMs} ms`)
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

export interface ProcessUse {
  readonly pid: number
  readonly command: string
  readonly uses: 'cwd' | 'root' | 'file'
}

/** Processes, other than this one, with their working directory, root or an open file below a directory. */
export function processesUsing(path: string): ProcessUse[] {
  // The kernel tells real paths; a home may be reached through links.
  const directory = attempt(() => realpathSync.native(path)) ?? path
  return processIds().flatMap((pid) => {
    const uses = useOf(pid, directory)
    return uses === undefined ? [] : [{ pid, command: commandOf(pid), uses }]
  })
}

function useOf(pid: number, directory: string): ProcessUse['uses'] | undefined {
  const below = (link: string): boolean => isBelow(readLink(link), directory)
  const cwd = readLink(`/proc/${pid}/cwd`)
  // It has ended, or may not be looked into: then nothing about it is told, and asking for each file costs a lot.
  if (cwd === undefined) return undefined
  if (isBelow(cwd, directory)) return 'cwd'
  if (below(`/proc/${pid}/root`)) return 'root'
  const descriptors = `/proc/${pid}/fd`
  const open = hasDescriptors(descriptors) && names(descriptors).some((fd) => below(`${descriptors}/${fd}`))
  return open ? 'file' : undefined
}

/** Since Linux 6.2 the size of the directory tells how many there are; a thread of the kernel, as most are, has none. */
function hasDescriptors(directory: string): boolean {
  sizeTells ??= (sizeOf('/proc/self/fd') ?? 0) > 0
  return !sizeTells || (sizeOf(directory) ?? 0) > 0
}

let sizeTells: boolean | undefined

const sizeOf = (path: string): number | undefined => attempt(() => statSync(path).size)

const isBelow = (target: string | undefined, directory: string): boolean =>
  target !== undefined && (target === directory || target.startsWith(`${directory}/`))

function processIds(): number[] {
  return names('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid)
}

/** Field 22 of /proc/PID/stat; the name in field 2 may hold spaces and brackets, so count from its end. */
function startTime(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // A zombie has ended; only its parent has not noticed.
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

/** The program's name as it was started, without its arguments, which may hold secrets. `comm` is that of a thread. */
function commandOf(pid: number): string {
  const started = (read(`/proc/${pid}/cmdline`) ?? '').split('\0')[0]?.split('/').at(-1)
  return started || (read(`/proc/${pid}/comm`) ?? '').trim()
}

const bootId = (): string => (read('/proc/sys/kernel/random/boot_id') ?? '').trim()
const pidNamespace = (): string => readLink('/proc/self/ns/pid') ?? ''

function read(file: string): string | undefined {
  return attempt(() => readFileSync(file, 'latin1'))
}

function readLink(file: string): string | undefined {
  return attempt(() => readlinkSync(file))
}

function names(directory: string): string[] {
  return attempt(() => readdirSync(directory)) ?? []
}

/** /proc changes while it is read: what is gone or forbidden is simply not there. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

const quietly = (act: () => void): void => void attempt(act)
