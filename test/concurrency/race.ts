import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Answer, CrashHome } from '../crash/home.ts'

export interface Call {
  readonly operation: string
  readonly input: object
}

/** Each list of calls in a process of its own, all calls of all processes at the same instant. */
export async function race(home: CrashHome, processes: readonly (readonly Call[])[]): Promise<Answer[][]> {
  const runners = processes.map((calls) => {
    const child = home.start('all', '')
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
    let errors = ''
    child.stderr?.on('data', (chunk) => (errors += String(chunk)))
    child.stdin?.write(`${JSON.stringify(calls)}\n`)
    const line = async (): Promise<string> => {
      const { value, done } = (await lines.next()) as { value: string; done?: boolean }
      if (done === true) throw new Error(`A process ended: ${errors}`)
      return value
    }
    return { child, line }
  })
  await Promise.all(runners.map(({ line }) => line()))
  for (const { child } of runners) child.stdin?.write('go\n')
  return Promise.all(
    runners.map(async ({ child, line }) => {
      const ended = once(child, 'exit')
      const answers = (JSON.parse(await line()) as string[]).map((text) => JSON.parse(text) as Answer)
      child.stdin?.end()
      await ended
      return answers
    }),
  )
}

/** How often each error code came back; `ok` for success. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { error } of answers) counts[error?.code ?? 'ok'] = (counts[error?.code ?? 'ok'] ?? 0) + 1
  return counts
}

/** On a busy machine the last of many waits long for its turn; that is not what is tested here. */
export const patient = { AW_LOCKS_TIMEOUT_MS: '100000' }

const nobody = 65534

/** Root and an ordinary user where the tests run as root; elsewhere the user they run as. */
export const users: readonly { name: string; uid: number | undefined }[] =
  process.getuid?.() === 0
    ? [
        { name: 'root', uid: undefined },
        { name: 'an ordinary user', uid: nobody },
      ]
    : [{ name: 'an ordinary user', uid: undefined }]
