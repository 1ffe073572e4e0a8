import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openManager } from '../../src/aw.ts'
import { AwError } from '../../src/domain/errors.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { compileCache } from '../package/compile-cache.ts'
import { letGo } from '../storage/unmount-below.ts'

const program = fileURLToPath(new URL('program.ts', import.meta.url))

/** A home, the test's own view of it, and processes that work in it. */
export interface CrashHome extends AsyncDisposable {
  readonly home: string
  readonly manager: Manager
  /** A folder to make workspaces from. */
  readonly source: string
  /** One operation in a process of its own, which dies at a numbered point if one is given. */
  readonly run: (operation: string, input: object, crashAt?: number) => Promise<Ended>
  /** The third process: stays, and does what it is told. */
  readonly tell: (operation: string, input: object) => Promise<Answer>
  /** `T` = stopped, as /proc tells it. */
  readonly stateOf: (pid: number | undefined) => string | undefined
  readonly start: (mode: string, name: string, input?: object) => ChildProcess
  /** The fourth process: keeps making workspaces, and rests while the home is checked. */
  readonly background: (name: string) => Promise<Background>
}

export interface Answer {
  readonly result?: Record<string, unknown>
  readonly error?: AwError
}

export interface Ended extends Answer {
  readonly crashed: boolean
}

export interface Background {
  readonly resting: <T>(work: () => Promise<T>) => Promise<T>
  /** Ids of the workspaces that it made and erased, as it was told. */
  readonly made: string[]
}

export interface HomeOptions {
  /** The home is not there yet: the test's own view of it opens when it is first used. */
  readonly fresh?: boolean
  /** Whose processes work in it; the test's own view of it is then one of them. */
  readonly uid?: number | undefined
  readonly env?: Readonly<Record<string, string>>
}

export async function makeHome({ fresh = false, uid, env: settings = {} }: HomeOptions = {}): Promise<CrashHome> {
  const base = mkdtempSync(join(tmpdir(), 'aw-crash-'))
  const home = join(base, 'home')
  const source = join(base, 'source')
  mkdirSync(join(source, 'deep'), { recursive: true })
  writeFileSync(join(source, 'README'), 'from the source\n')
  writeFileSync(join(source, 'deep', 'file'), Buffer.alloc(100_000, 'source'))
  if (uid !== undefined) {
    assertReadable(uid)
    chownSync(base, uid, uid)
  }
  let opened = fresh || uid !== undefined ? undefined : await openManager({ home })
  const mine = async (): Promise<Manager> => (opened ??= await openManager({ home }))
  const own: Manager = {
    call: async (name, input, context) => (await mine()).call(name, input, context),
    async *stream(name, input, context) {
      yield* (await mine()).stream(name, input, context)
    },
    [Symbol.asyncDispose]: async () => opened?.[Symbol.asyncDispose](),
  }
  const children = new Set<ChildProcess>()

  function launch(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...process.env, ...settings, NODE_COMPILE_CACHE: compileCache(uid), HOME: base, ...env },
      cwd: base,
      ...(uid !== undefined && { uid, gid: uid }),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }

  let third: { child: ChildProcess; lines: AsyncIterator<string> } | undefined

  async function tell(operation: string, input: object): Promise<Answer> {
    if (third === undefined) {
      const child = launch(['serve', home])
      third = {
        child,
        lines: createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator](),
      }
    }
    third.child.stdin?.write(`${JSON.stringify({ operation, input })}\n`)
    const { value, done } = (await third.lines.next()) as { value: string; done?: boolean }
    if (done === true) throw new Error(`The third process ended: ${await text(third.child.stderr)}`)
    return JSON.parse(value) as Answer
  }

  /** An answer came from another process as text: an error is one again. */
  const theirs: Manager = {
    async call(name, input) {
      const { result, error } = await tell(name, input)
      if (error !== undefined) throw new AwError(error.code, error.message, { data: error.data })
      return result as never
    },
    async *stream(name, input) {
      const { result, error } = await tell(name, input)
      if (error !== undefined) throw new AwError(error.code, error.message, { data: error.data })
      yield* result as unknown as never[]
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
  const manager = uid === undefined ? own : theirs

  return {
    home,
    manager,
    source,
    tell,
    stateOf: (pid) => / ([A-Z]) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1],
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
      // They outlive whoever started them, also a test that fails.
      await endBoxes(home)
      // Trees may be mounts; whoever made them here is gone.
      letGo(base, ['--lazy'])
      rmSync(base, { recursive: true, force: true })
    },
  }
}

const answer = (out: string): Answer => (out.includes('\n') ? (JSON.parse(out) as Answer) : {})

async function text(stream: NodeJS.ReadableStream | null): Promise<string> {
  let all = ''
  for await (const chunk of stream ?? []) all += String(chunk)
  return all
}

/** Another user must be able to read this checkout and to run its Node. */
function assertReadable(uid: number): void {
  const { status } = spawnSync(process.execPath, ['-e', `fs.accessSync(${JSON.stringify(program)})`], {
    uid,
    gid: uid,
    cwd: '/',
  })
  if (status === 0) return
  throw new Error(
    `uid ${uid} cannot read ${program} or run ${process.execPath}: give others r and x on the way to them`,
  )
}
