/**
 * Numbered crash points. Every call that changes the host goes through an object made by `counted`; with `AW_CRASH_AT=n`
 * in the environment the process kills itself, as with `kill -9`, just before the n-th of them. The crash tests raise n
 * until the operation completes, so every step in between has been the last one once. With `AW_CRASH_AT=+n` a daemon
 * counts only what it does after it has begun to serve.
 */

const wanted = process.env['AW_CRASH_AT'] ?? '0'
const crashAt = Number(wanted)
let isCounting = !wanted.startsWith('+')
let passed = 0

export function countFromHere(): void {
  isCounting = true
}

type Calls = Record<string, (...args: never[]) => unknown>

/** Without `AW_CRASH_AT` it returns the object itself: nothing is added to the calls. */
export function counted<T extends Calls>(calls: T): T {
  if (!(crashAt > 0)) return calls
  const wrapped = Object.entries(calls).map(([name, call]) => [
    name,
    (...args: never[]) => {
      if (isCounting) passed += 1
      if (isCounting && passed === crashAt) process.kill(process.pid, 'SIGKILL')
      return call(...args)
    },
  ])
  return Object.fromEntries(wrapped) as T
}
