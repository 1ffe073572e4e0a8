import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openManager } from '../../src/aw.ts'
import type { AwError } from '../../src/domain/errors.ts'
import type { Manager } from '../../src/ports/manager.ts'

const program = fileURLToPath(new URL('program.ts', import.meta.url))

/** A home, the test's own view of it, and processes that work in it. */
export interface CrashHome extends AsyncDisposable {
  readonly home: string
  readonly manager: Manager
  /** A folder to make workspaces from. */
  readonly source: string
  /** One operation in a process of its own, which dies at a numbered point if one is given. */
  readonly run: (operation: string, input: object, crashAt?: number) => Promise<Ended>
  readonly start: (mode: string, name: string, input?: object) => ChildProcess
  /** The fourth process: keeps making workspaces, and rests while the home is checked. */
  readonly background: (name: string) => Promise<Background>
}

export interface Ended {
  readonly crashed: boolean
  readonly result?: Record<string, unknown>
  readonly error?: AwError
}

export interface Background {
  readonly resting: <T>(work: () => Promise<T>) => Promise<T>
  /** Ids of the workspaces that it made and erased, as it was told. */
  readonly made: string[]
}

export async function makeHome(): Promise<CrashHome> {
  const base = mkdtempSync(join(tmpdir(), 'aw-crash-'))
  const home = join(base, 'home')
  const source = join(base, 'source')
  mkdirSync(join(source, 'deep'), { recursive: true })
  writeFileSync(join(source, 'README'), 'from the source\n')
  writeFileSync(join(source, 'deep', 'file'), Buffer.alloc(100_000, 'source'))
  const manager = await openManager({ home })
  const children = new Set<ChildProcess>()

  function launch(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const cache = join(tmpdir(), 'aw-compile-cache')
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...process.env, NODE_COMPILE_CACHE: cache, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }

  return {
    home,
    manager,
    source,
    start: (mode, name, input = {}) => launch([mode, home, name, JSON.stringify(input)]),
    async run(operation, input, crashAt) {
      const env = crashAt === undefined ? {} : { AW_CRASH_AT: `${crashAt}` }
      const child = launch(['call', home, operation, JSON.stringify(input)], env)
      const [out, err, [code, signal]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close') as Promise<[number | null, string | null]>,
      ])
      // The process may die after it has answered, while it closes the log.
      if (signal === 'SIGKILL') return { ...answer(out), crashed: true }
      if (code !== 0) throw new Error(`${operation} ended with ${code ?? signal}: ${err}`)
      return { ...answer(out), crashed: false }
    },
    async background(name) {
      const child = launch(['work', home, name])
      const made: string[] = []
      const failures: string[] = []
      const heard = new Map<string, () => void>()
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
        if (line.startsWith('made ')) made.push(line.slice(5))
        heard.get(line)?.()
      })
      child.stderr?.on('data', (chunk) => failures.push(String(chunk)))
      const tell = async (line: string, reply: string): Promise<void> => {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        heard.set(reply, resolve)
        child.once('exit', () => reject(new Error(`The background process ended: ${failures.join('')}`)))
        child.stdin?.write(`${line}\n`)
        await promise
        child.removeAllListeners('exit')
        child.once('exit', () => children.delete(child))
      }
      return {
        made,
        async resting(work) {
          await tell('pause', 'paused')
          try {
            return await work()
          } finally {
            await tell('go', 'going on')
          }
        },
      }
    },
    async [Symbol.asyncDispose]() {
      const ended = [...children].map((child) => once(child, 'exit'))
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(ended)
      await manager[Symbol.asyncDispose]()
      rmSync(base, { recursive: true, force: true })
    },
  }
}

const answer = (out: string): Omit<Ended, 'crashed'> =>
  out.includes('\n') ? (JSON.parse(out) as Omit<Ended, 'crashed'>) : {}

async function text(stream: NodeJS.ReadableStream | null): Promise<string> {
  let all = ''
  for await (const chunk of stream ?? []) all += String(chunk)
  return all
}
