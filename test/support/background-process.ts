import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** Another process that stays until it is disposed of, or the test is over. */
export interface Standing extends AsyncDisposable {
  readonly pid: number
}

/** Resolves when it has written something: then it is where it should be. */
export async function standing(argv: readonly string[], { cwd = '/' } = {}): Promise<Standing> {
  const [program = '', ...words] = argv
  const child = spawn(program, words, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const end = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(end)
  const gone = ended.then(() => {
    throw new Error(`${program} ended before it had said anything`)
  })
  await Promise.race([once(child.stdout, 'data'), gone])
  // It ends in the end.
  gone.catch(() => undefined)
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: end }
}
