import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * A shell that starts what is measured, as a user's does. Node copies the page tables of its whole memory to start a
 * program, so that whatever is measured late would pay for all that this process has done before.
 */
export interface Shell extends AsyncDisposable {
  /** Settles when the program has ended; rejects, with what it complained of, if it failed. */
  readonly run: (argv: readonly string[], env?: Readonly<Record<string, string>>) => Promise<void>
}

export function openShell(cwd: string): Shell {
  // Settings of this run are not the user's: who has some is not served by a daemon.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AW_')))
  const shell = spawn('sh', [], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(shell, 'close')
  const answers = createInterface({ input: shell.stdout })[Symbol.asyncIterator]()
  let complaints = ''
  shell.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
  return {
    async run(argv, env = {}) {
      complaints = ''
      const settings = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`)
      shell.stdin.write(`${[...settings, ...argv.map(quoted)].join(' ')} >/dev/null </dev/null; echo $?\n`)
      const { value: status } = await answers.next()
      if (status !== '0') throw new Error(`${argv.join(' ')} failed: ${complaints}`)
    },
    async [Symbol.asyncDispose]() {
      shell.stdin.end()
      await ended
    },
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`
