import { AwError } from '../../domain/errors.ts'
import type { Exit } from '../../domain/sandbox/spec.ts'
import type { Command, Execution, OutputChunk } from '../../ports/sandbox-driver.ts'
import type { CommandLimits } from './limits.ts'
import type { Surroundings } from './memory-programs.ts'

interface Running {
  readonly program: (around: Surroundings, command: Command) => AsyncGenerator<OutputChunk, number>
  readonly around: Omit<Surroundings, 'ended'>
  readonly command: Command
  readonly limits: Omit<CommandLimits, 'rlimits'>
  /** All of the box's, while they run. */
  readonly running: Set<AbortController>
}

/** How much it writes before somebody must read. */
const window = 1024 * 1024

/** Runs one command of a box in memory: it goes on by itself until it has written more than anybody has read. */
export function memoryExecution({ program, around, command, limits, running }: Running): Execution {
  if (command.signal?.aborted) {
    const error = new AwError('aborted', 'The command was cancelled before it began', { cause: command.signal.reason })
    const exit = Promise.reject<Exit>(error)
    exit.catch(() => undefined)
    return { exit, output: { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) } }
  }
  const began = performance.now()
  const killed = new AbortController()
  let [timedOut, cut, over, unread, kept] = [false, false, false, 0, 0]
  const waiting: OutputChunk[] = []
  const news = new Set<() => void>()
  const tell = (): void => {
    for (const wake of [...news]) wake()
  }
  const wait = (): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        news.delete(wake)
        resolve()
      }
      news.add(wake)
    })
  const kill = (): void => killed.abort()
  const late = limits.wallMs === undefined ? undefined : setTimeout(() => (timedOut = true) && kill(), limits.wallMs)
  command.signal?.addEventListener('abort', kill, { once: true })
  killed.signal.addEventListener('abort', tell)
  running.add(killed)

  async function go(): Promise<Exit> {
    const steps = program({ ...around, ended: killed.signal }, command)
    let code: number | null = null
    const dead = new Promise<undefined>((resolve) =>
      killed.signal.addEventListener('abort', () => resolve(undefined), { once: true }),
    )
    for (;;) {
      const step = killed.signal.aborted ? undefined : await Promise.race([steps.next(), dead])
      if (step === undefined) break
      if (step.done === true) {
        code = step.value
        break
      }
      const room = (limits.outputBytes ?? Infinity) - kept
      const data = step.value.data.subarray(0, room)
      if (data.length < step.value.data.length) cut = true
      kept += data.length
      unread += data.length
      if (data.length > 0) waiting.push({ ...step.value, data })
      tell()
      while (unread >= window && !killed.signal.aborted) await wait()
    }
    return {
      code,
      signal: code === null ? 'SIGKILL' : null,
      duration_ms: performance.now() - began,
      peak_memory_bytes: 0,
      cpu_ms: 0,
      timed_out: timedOut,
      output_cut: cut,
    }
  }

  const exit = go().finally(() => {
    over = true
    clearTimeout(late)
    command.signal?.removeEventListener('abort', kill)
    running.delete(killed)
    tell()
  })
  exit.catch(() => undefined)

  async function* output(): AsyncGenerator<OutputChunk, void> {
    try {
      for (;;) {
        const next = waiting.shift()
        if (next === undefined && over) return
        if (next === undefined) {
          await wait()
          continue
        }
        unread -= next.data.length
        tell()
        yield next
      }
    } finally {
      unread = -Infinity
      tell()
    }
  }
  return { exit, output: output() }
}
