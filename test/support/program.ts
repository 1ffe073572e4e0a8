import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** One of `test/support/programs/`, running as a process of its own. */
export interface Program {
  readonly process: ChildProcessWithoutNullStreams
  /** The lines it has printed so far. */
  readonly lines: string[]
  /** Resolves with the first line, old or new, that the test accepts. */
  line(accept: (line: string) => boolean): Promise<string>
  /** Resolves when it has ended. `stderr` says what went wrong. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>
}

const programs = new URL('./programs/', import.meta.url)

export function startProgram(name: string, args: readonly string[], env: Record<string, string> = {}): Program {
  const child = spawn(process.execPath, [fileURLToPath(new URL(name, programs)), ...args], {
    env: { ...process.env, ...env },
    stdio: 'pipe',
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  const reader = createInterface(child.stdout)
  reader.on('line', (line) => {
    lines.push(line)
    for (const wake of waiting) wake()
  })
  const ended = Promise.all([once(child, 'exit'), once(reader, 'close')]).then(([[code, signal]]) => {
    for (const wake of waiting) wake()
    return { code: code as number | null, signal: signal as NodeJS.Signals | null, stderr }
  })
  const over = ended.then(() => 'over' as const)

  async function line(accept: (line: string) => boolean): Promise<string> {
    for (;;) {
      const found = lines.find(accept)
      if (found !== undefined) return found
      const news = Promise.withResolvers<void>()
      waiting.add(news.resolve)
      const what = await Promise.race([news.promise, over])
      waiting.delete(news.resolve)
      if (what === 'over' && !lines.some(accept)) throw new Error(`${name} ended without the line: ${stderr}`)
    }
  }

  return { process: child, lines, line, ended }
}
