/** What can be seen of processes from outside, by what the kernel tells. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Those that have a word on their command line. */
export function processesWith(marker: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && fileOf(pid, 'cmdline').includes(marker))
}

/** Empty if it is gone. */
export function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}

/** What its descriptors lead to, from a number on. */
export function descriptorsOf(pid: number, from = 0): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`)
      .filter((name) => Number(name) >= from)
      .map((name) => readlinkSync(`/proc/${pid}/fd/${name}`))
  } catch {
    return []
  }
}

export const namespaceOf = (pid: number, kind: string): string => readlinkSync(`/proc/${pid}/ns/${kind}`)

/** Running or sleeping, and not only a name that nobody has asked for. */
export const isAlive = (pid: number): boolean => /^State:\s+[^ZX]/m.test(fileOf(pid, 'status'))

export const residentKb = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(fileOf(pid, 'status'))?.[1] ?? 0)

/** For what must come: a busy machine may be late with it. */
export const patience = 20_000

/** Waits until it is so, for a bounded time; answers whether it came to be. */
export async function within(ms: number, isSo: () => boolean): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until;) {
    if (isSo()) return true
    await sleep(10)
  }
  return isSo()
}
