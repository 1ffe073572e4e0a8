import { AwError } from '../../../src/domain/errors.ts'
import type { Exit } from '../../../src/domain/sandbox/spec.ts'
import type { Command, Execution, OutputChunk } from '../../../src/ports/sandbox-driver.ts'
import { failed } from '../../../src/drivers/sandbox/box/job.ts'
import { incoming } from '../../../src/drivers/sandbox/box/output.ts'
import type { CommandLimits } from '../../../src/drivers/sandbox/limits.ts'
import type { Surroundings } from './programs.ts'

interface Running {
  readonly program: (around: Surroundings, command: Command) => Promise<number>
  readonly around: Omit<Surroundings, 'ended' | 'say'>
  readonly command: Command
  readonly limits: Omit<CommandLimits, 'rlimits'>
  /** All of the box's, while they run. */
  readonly running: Set<AbortController>
}

/** How much it writes before somebody must read. */
const window = 1024 * 1024

/** Runs one command of a box in memory: it goes on by itself until it has written more than anybody has read. */
export function memoryExecution({ program, around, command, limits, running }: Running): Execution {
  const { signal } = command
  if (signal?.aborted) {
    return failed(new AwError('aborted', 'The command was cancelled before it began', { cause: signal.reason }))
  }
  const began = performance.now()
  const killed = new AbortController()
  const unread = unreadBytes()
  const output = incoming<OutputChunk>(unread.read)
  const left = { bytes: limits.outputBytes ?? Infinity }
  const state = { timedOut: false, cut: false }
  const kill = (): void => killed.abort()
  const late = limits.wallMs === undefined ? undefined : setTimeout(timeOver, limits.wallMs)
  signal?.addEventListener('abort', kill, { once: true })
  killed.signal.addEventListener('abort', unread.letGo)
  running.add(killed)

  function timeOver(): void {
    state.timedOut = true
    kill()
  }

  async function say(what: string | Uint8Array, stream: OutputChunk['stream'] = 'stdout'): Promise<void> {
    const whole = typeof what === 'string' ? Buffer.from(what) : what
    const data = whole.subarray(0, left.bytes)
    state.cut ||= data.length < whole.length
    left.bytes -= data.length
    if (data.length > 0) {
      unread.add(data.length)
      output.push({ stream, data }, data.length)
    }
    await unread.room()
  }

  async function go(): Promise<Exit> {
    const dead = new Promise<null>((resolve) => {
      killed.signal.addEventListener('abort', () => resolve(null), { once: true })
    })
    const ended = program({ ...around, ended: killed.signal, say }, command)
    const code = await Promise.race([ended.then((value) => (killed.signal.aborted ? null : value)), dead])
    return {
      code,
      signal: code === null ? 'SIGKILL' : null,
      duration_ms: Math.round(performance.now() - began),
      peak_memory_bytes: 0,
      cpu_ms: 0,
      timed_out: state.timedOut,
      output_cut: state.cut,
    }
  }

  const exit = go().finally(() => {
    clearTimeout(late)
    signal?.removeEventListener('abort', kill)
    running.delete(killed)
    output.end()
  })
  exit.catch(() => undefined)
  return { exit, output: output.items }
}

/** Counts what waits to be read, and lets a writer wait until there is room. */
function unreadBytes() {
  let [bytes, free] = [0, false]
  let wake: (() => void) | undefined
  return {
    add: (more: number): void => void (bytes += more),
    read: (less: number): void => {
      bytes -= less
      wake?.()
    },
    letGo: (): void => {
      free = true
      wake?.()
    },
    room: (): Promise<void> =>
      new Promise((resolve) => {
        wake = () => {
          if (bytes < window || free) resolve()
        }
        wake()
      }),
  }
}
