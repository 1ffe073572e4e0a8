/** Boxes for tests: the real program, driven by plain frames. Everything that a test started is ended after it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach } from 'vitest'
import { boxProgram } from '../../../src/drivers/sandbox/box/program.ts'
import { connectRaw, type RawClient, readTags, type Tags, tags, type } from './raw.ts'

export type Level = 'none' | 'namespace'
export const levels: readonly Level[] = ['none', 'namespace']

export interface BoxOptions {
  /** Beside `V`, `D` and `k`; with an `A` among them, it makes the walls. */
  readonly spec?: Tags
  /** More arguments for bubblewrap. */
  readonly walls?: readonly string[]
  /** From 4 on. */
  readonly descriptors?: readonly number[]
  readonly level?: Level | 'guarded'
  /** Runs the supervisor as an ordinary user. */
  readonly uid?: number
  readonly env?: Record<string, string>
  /** How many files may be open: `soft:hard`. */
  readonly files?: string
  /** How large a file may become. */
  readonly fileBytes?: number
}

export interface TestBox {
  readonly folder: string
  readonly socket: string
  readonly supervisor: ChildProcess
  /** The line that it answered. */
  readonly answer: string
  readonly pid: number
  readonly first: number
  connect(): Promise<RawClient>
  /** Its exit code or signal. */
  readonly ended: Promise<number | string | null>
  /** What it and its tools complained about. */
  log(): string
}

const supervisors: ChildProcess[] = []
const clients: RawClient[] = []
const folders: string[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  await Promise.all(supervisors.splice(0).map(endSupervisor))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function endSupervisor(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const hard = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(hard)
}

/** An empty folder that anybody may go into, and that is gone after the test. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'aw-box-'))
  chmodSync(folder, 0o755)
  folders.push(folder)
  return folder
}

/** What the box sees of the system, around which a test puts the rest. */
export const bwrap = (more: readonly string[] = [], init: readonly string[] = ['/run/aw-box', 'init']): string[] => [
  ...'/usr/bin/bwrap --unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts'.split(' '),
  ...'--uid 1000 --gid 1000 --die-with-parent --as-pid-1 --clearenv --cap-drop ALL'.split(' '),
  ...'--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64'.split(' '),
  ...'--proc /proc --dev /dev --tmpfs /tmp --tmpfs /run'.split(' '),
  '--ro-bind',
  boxProgram(),
  '/run/aw-box',
  ...more,
  '--',
  ...init,
]

const wallsOf = (level: string, more: readonly string[]): string[] =>
  level === 'namespace' ? bwrap(more) : [boxProgram(), 'init']

/** Starts one and waits for its answer, whatever that is. */
export async function launchBox(options: BoxOptions = {}): Promise<TestBox> {
  const { level = 'none', spec = [], walls = [], descriptors = [], uid, env = {}, files, fileBytes } = options
  const folder = testFolder()
  const box = join(folder, 'box')
  const list: Tags = [
    ['V', 1],
    ['D', 3],
    ['k', level],
    ...(spec.some(([tag]) => tag === 'A') ? [] : wallsOf(level, walls).map((it) => ['A', it] as const)),
    ...spec,
  ]
  writeFileSync(join(folder, 'spec'), tags(list))
  mkdirSync(box, { mode: 0o700 })
  if (uid !== undefined) chownSync(box, uid, uid)
  const opened = [openSync(join(folder, 'spec'), 'r'), openSync(join(folder, 'log'), 'a'), openSync(box, 'r')]
  const [input = -1, log = -1, directory = -1] = opened
  const limits = [
    ...(files === undefined ? [] : [`--nofile=${files}`]),
    ...(fileBytes === undefined ? [] : [`--fsize=${fileBytes}`]),
  ]
  const limited = limits.length === 0 ? [] : ['prlimit', ...limits]
  const [program, ...argv] = [...limited, boxProgram(), 'supervise']
  const supervisor = spawn(program, argv, {
    detached: true,
    env,
    cwd: '/',
    stdio: [input, 'pipe', log, directory, ...descriptors],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  supervisors.push(supervisor)
  for (const fd of opened) closeSync(fd)
  const ended = new Promise<number | string | null>((resolve, reject) => {
    supervisor.once('error', reject)
    supervisor.once('exit', (code, signal) => resolve(code ?? signal))
  })
  const answer = await firstLine(supervisor)
  const socket = join(box, 's')
  return {
    folder,
    socket,
    supervisor,
    answer,
    pid: supervisor.pid ?? 0,
    first: Number(/^ready (\d+)$/.exec(answer)?.[1] ?? 0),
    ended,
    connect: async () => {
      const client = await connectRaw(socket)
      clients.push(client)
      return client
    },
    log: () => readFileSync(join(folder, 'log'), 'utf8'),
  }
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of stdout ?? []) {
    text += String(chunk)
    if (text.endsWith('\n')) break
  }
  return text.trim()
}

/** One that must stand. */
export async function startBox(options: BoxOptions = {}): Promise<TestBox & { readonly client: RawClient }> {
  const box = await launchBox(options)
  if (box.first === 0) throw new Error(`The box did not start: ${box.answer}\n${box.log()}`)
  return { ...box, client: await box.connect() }
}

let lastId = 100
export const nextId = (): number => ++lastId

export const systemPath = 'PATH=/usr/local/bin:/usr/bin:/bin'

/** Asks for a command with plenty of credit. */
export function exec(client: RawClient, argv: readonly string[], more: Tags = []): number {
  const id = nextId()
  const given = new Set(more.map(([tag]) => tag))
  const list = argv.map((it): [string, string | number] => ['a', it])
  if (!given.has('d')) list.push(['d', '/'])
  if (!given.has('c')) list.push(['c', 1 << 20])
  if (!given.has('e')) list.push(['e', systemPath])
  client.send(type.exec, id, tags([...list, ...more]))
  return id
}

export interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly exit: Record<string, string>
}

export async function finished(client: RawClient, id: number): Promise<Ran> {
  const exit = await client.answer(type.exit, id)
  return {
    stdout: client.output(id).toString('latin1'),
    stderr: client.output(id, type.stderr).toString('latin1'),
    exit: readTags(exit.payload),
  }
}

export const run = (client: RawClient, argv: readonly string[], more?: Tags): Promise<Ran> =>
  finished(client, exec(client, argv, more))

export const shell = (client: RawClient, script: string, more?: Tags): Promise<Ran> =>
  run(client, ['sh', '-c', script], more)

/** A command line that no other process of the machine has: it sleeps. */
export const sleeper = (): { readonly argv: readonly string[]; readonly mark: string } => {
  const mark = `6${BigInt(`0x${randomUUID().replaceAll('-', '').slice(0, 12)}`)}`
  return { argv: ['sleep', mark], mark }
}

/** The processes whose command line holds this, as seen from outside. */
export function processesWith(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => procFile(pid, 'cmdline').includes(mark) && !/^State:\s+[ZX]/m.test(procFile(pid, 'status')))
    .map(Number)
}

export function procFile(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}

export const residentKib = (pid: number): number => Number(/VmRSS:\s+(\d+)/.exec(procFile(pid, 'status'))?.[1] ?? NaN)

/** Waits for what must come true. */
export async function until(test: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await test()) return
    await sleep(20)
  }
  throw new Error(`It did not happen: ${what}`)
}

/** The process inside that stands for the box: the one process below the first, or the first itself. */
export const initOf = (box: TestBox, level: Level): number =>
  level === 'none' ? box.first : Number(procFile(box.first, `task/${box.first}/children`).split(' ')[0])
