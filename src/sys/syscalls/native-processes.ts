import { constants } from 'node:os'
import type { Argument, Calls } from './calls.ts'
import type { Syscall } from './syscall-numbers.ts'

/** Those of the system calls that start, watch and end processes. */
export interface ProcessCalls {
  /**
   * Starts a program, of which the first word is the path, in a session of its own, in `/`, with nothing in its environment
   * and with these descriptors, from 0 on; answers its number. Costs the same however large this process is. It is a child
   * of ours that nobody but `hasEnded` or `untilEnded` waits for.
   */
  start(words: readonly string[], descriptors: readonly number[]): number
  /** What is written to the second descriptor is read from the first. */
  pipe(): [read: number, write: number]
  /** Whether a child is no more. Its number may be another's from then on. */
  hasEnded(pid: number): boolean
  /** The same, waited for on another thread. */
  untilEnded(pid: number): Promise<void>
  /** A handle on a process that no later process with its pid can take over. */
  pidfdOpen(pid: number): number
  pidfdSendSignal(pidfd: number, signal: number): void
}

const O_CLOEXEC = 0o2000000
const WNOHANG = 1

export function processCalls(
  calls: Calls,
  number: Record<Syscall, number>,
  check: (result: number, syscall: string) => number,
): ProcessCalls {
  const make = (syscall: Syscall, ...values: Argument[]): number =>
    check(calls.call(number[syscall], ...values), syscall)
  const isGone = (result: number): boolean => {
    const { ECHILD, EINTR } = constants.errno
    // Somebody else may have waited for it.
    return result === -ECHILD || (result !== -EINTR && check(result, 'wait4') > 0)
  }

  return {
    start(words, descriptors) {
      const bytes = Buffer.from(words.map((word) => `${word}\0`).join(''))
      return check(calls.start(bytes, new BigUint64Array(words.length + 1), Int32Array.from(descriptors)), 'execve')
    },
    pipe() {
      const ends = new Int32Array(2)
      make('pipe2', new Uint8Array(ends.buffer), O_CLOEXEC)
      return [ends[0] ?? -1, ends[1] ?? -1]
    },
    hasEnded: (pid) => isGone(calls.call(number.wait4, pid, null, WNOHANG, null)),
    async untilEnded(pid) {
      while (!isGone(await calls.callLater(number.wait4, pid, null, 0, null)));
    },
    pidfdOpen: (pid) => make('pidfd_open', pid, 0),
    pidfdSendSignal: (pidfd, signal) => void make('pidfd_send_signal', pidfd, signal, null, 0),
  }
}
