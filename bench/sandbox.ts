/**
 * Sandboxes: how long one takes from nothing to the end of its command, and what it costs to run something in one.
 * As root, for root and for an ordinary user; else for the user who runs it. `node bench/sandbox.ts measure FOLDER …`
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openAw, type Workspace } from '../src/index.ts'
import type { Network } from '../src/domain/sandbox/spec.ts'
import { packageIn } from './package.ts'
import { compete, median, row, type Row } from './row.ts'
import { fileBuild } from './sandbox-build.ts'
import { memoryOf, output, sandboxPlace, type SandboxPlace } from './sandbox-place.ts'
import { installRuntime, sandboxRuntime } from './sandbox-runtime.ts'

interface Size {
  readonly rounds: number
  readonly files: number
}

const isRoot = process.getuid?.() === 0
const ordinary = 65_534

export async function benchSandbox(size: Size): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-sandbox-'))
  try {
    for (const path of [tmpdir(), folder]) chmodSync(path, 0o755)
    const hasRuntime = installRuntime(join(folder, 'runtime'))
    if (!hasRuntime) console.error('sandbox-runtime is left out: it needs npm, socat, ripgrep and a registry')
    packageIn(folder)
    const users = isRoot ? [0, ordinary] : [process.getuid?.() ?? 0]
    return users.flatMap((uid) => measuredAs(uid, folder, hasRuntime, size))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In a process of that user's own, which is small: what a process has in memory makes it slow to start others. */
function measuredAs(uid: number, folder: string, hasRuntime: boolean, { rounds, files }: Size): Row[] {
  const own = join(folder, `user-${uid}`)
  mkdirSync(own)
  chownSync(own, uid, uid)
  const text = execFileSync(
    process.execPath,
    [fileURLToPath(import.meta.url), 'measure', folder, own, `${rounds}`, `${files}`, hasRuntime ? 'runtime' : ''],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: own,
      env: { PATH: process.env['PATH'], HOME: own, TMPDIR: own },
      ...(isRoot ? { uid, gid: uid } : {}),
    },
  )
  const who = uid === 0 ? 'root' : 'ordinary user'
  return (JSON.parse(text) as Row[]).map((one) => ({ ...one, name: `${who}: ${one.name}` }))
}

async function measure(folder: string, own: string, size: Size, hasRuntime: boolean): Promise<Row[]> {
  const place = sandboxPlace(join(own, 'place'))
  const { driver, spec } = place
  await using aw = await openAw({ home: join(own, 'home') })
  const ws = await aw.create({ id: 'bench' })
  await using kept = await driver.start('kept', await driver.plan(spec()))
  try {
    const plain = await place.plain('kept')
    const rows = [
      ...(await coldRows(place, ws, plain, size)),
      ...(await warmRows(place, ws, plain, size)),
      ...(await commandRows(folder, own, plain, size)),
      ...(hasRuntime ? await runtimeRows(folder, place, size) : []),
      ...(await buildRows(place, size)),
    ]
    const { supervisor, inside } = place.ownersOf('kept')
    const memory = memoryOf(supervisor.pid, ...inside.map(({ pid }) => pid))
    return [
      ...rows,
      row('memory of a box: supervisor, bubblewrap, process 1; a Node that does nothing', memory, idleNode(), {
        goal: null,
        unit: 'MB',
        note: 'resident; what they share counts each time',
      }),
    ]
  } finally {
    await kept.stop({ graceMs: 0 })
  }
}

type Plain = (...argv: readonly string[]) => Promise<void>

const allowed: Network = { mode: 'allowlist', allow: ['example.invalid'] }
/** A request that the proxy refuses: it is up when it answers, and nothing leaves the machine. */
const request =
  'exec 3<>/dev/tcp/127.0.0.1/3128; printf "GET http://a.invalid/ HTTP/1.1\\r\\nHost: a.invalid\\r\\n\\r\\n" >&3; head -c 12 <&3'

async function once({ driver, spec }: SandboxPlace, name: string, network: Network, ...argv: string[]): Promise<void> {
  const box = await driver.start(name, await driver.plan({ ...spec(network), once: true }))
  try {
    await output(box, ...argv)
  } finally {
    await box.stop({ graceMs: 0 })
  }
}

async function coldRows(place: SandboxPlace, ws: Workspace, plain: Plain, { rounds }: Size): Promise<Row[]> {
  const times = await compete(rounds, {
    plain: () => plain('true'),
    ours: (round) => once(place, `cold-${round}`, { mode: 'none' }, 'true'),
    listed: (round) => once(place, `listed-${round}`, allowed, 'true'),
    proxied: (round) => once(place, `proxied-${round}`, allowed, 'bash', '-c', request),
    logged: () => ws.exec(['true']).exit,
  })
  return [
    row('cold start, true, stop; bwrap with the same arguments', times.ours, times.plain, {
      goal: 1.5,
      note: 'driver of the library: start + exec + stop, with a supervisor and cgroups',
    }),
    row('cold start, true, stop, with an allow-list; bwrap', times.listed, times.plain, {
      goal: 3,
      note: 'the proxy is started by the first request, and there is none',
    }),
    row('cold start, a request through the proxy, stop; bwrap', times.proxied, times.plain, {
      goal: null,
      note: 'starts a Node for the proxy',
    }),
    row('ws.exec of true in a sandbox of its own; bwrap', times.logged, times.plain, {
      goal: null,
      note: 'with the log, durable before and after',
    }),
  ]
}

async function warmRows({ driver, tree }: SandboxPlace, ws: Workspace, plain: Plain, { rounds }: Size): Promise<Row[]> {
  await using box = await driver.find('kept')
  if (box === undefined) throw new Error(`There is no box around ${tree}`)
  await ws.start()
  const sleeps = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, () => output(box, 'sleep', '1')))
  // A library that stays loaded is warm.
  const warm = Math.min(20, rounds)
  const contestants = {
    plain: () => plain('true'),
    ours: () => output(box, 'true'),
    logged: () => ws.exec(['true']).exit,
  }
  const times = await compete(rounds * 2, contestants, warm)
  const sleeping = await compete(Math.min(3, rounds), { one: () => plain('sleep', '1'), many: () => sleeps(20) })
  await ws.stop({ grace_ms: 0 })
  return [
    row('true in a started sandbox; a new bwrap each', times.ours, times.plain, {
      goal: 1 / 5,
      note: 'without the log',
    }),
    row('ws.exec of true in a started sandbox; a new bwrap each', times.logged, times.plain, {
      goal: 1 / 2.5,
      note: 'with the log, durable before and after',
    }),
    row('20 times sleep 1 at once in one sandbox; one sleep 1 in bwrap', sleeping.many, sleeping.one, {
      goal: 2,
      note: '',
    }),
  ]
}

/** From a shell: a Node has to be started. */
async function commandRows(folder: string, own: string, plain: Plain, { rounds }: Size): Promise<Row[]> {
  const env = { PATH: process.env['PATH'], HOME: own, AW_HOME: join(own, 'home') }
  const aw = (...args: string[]): void =>
    void execFileSync(process.execPath, [join(folder, 'dist/aw.cjs'), ...args], { env, stdio: 'pipe' })
  aw('exec', 'bench', '--', 'true')
  const times = await compete(rounds, {
    plain: () => plain('true'),
    node: () => execFileSync(process.execPath, ['-e', '0'], { stdio: 'ignore' }),
    ours: () => aw('exec', 'bench', '--', 'true'),
  })
  return [
    row('aw exec -- true; bwrap', times.ours, times.plain, { goal: null, note: 'a Node, the log, a sandbox' }),
    row('aw exec -- true; node -e 0 and bwrap', times.ours, times.node + times.plain, {
      goal: null,
      note: 'the least that a command in Node can take',
    }),
  ]
}

async function runtimeRows(folder: string, place: SandboxPlace, { rounds }: Size): Promise<Row[]> {
  const runtime = await sandboxRuntime(join(folder, 'runtime'), place.tree)
  const ours = (round: number): Promise<void> => once(place, `against-${round}`, { mode: 'none' }, 'true')
  const few = Math.max(1, Math.ceil(rounds / 3))
  const times = await compete(few, { command: runtime.command, library: runtime.library, ours })
  await using box = await place.driver.find('kept')
  const ready = await runtime.ready()
  const again = await compete(few, { theirs: ready.run, ours: () => box && output(box, 'true') })
  await ready.end()
  const note = `sandbox-runtime ${runtime.version}, as its documentation says`
  return [
    row('cold start, true, stop; srt true', times.ours, times.command, { goal: 1 / 5, note }),
    row('cold start, true, stop; the same with its library', times.ours, times.library, { goal: 1 / 5, note }),
    row('true in a started sandbox; true with its library when ready', again.ours, again.theirs, { goal: 1 / 5, note }),
  ]
}

async function buildRows({ driver, tree }: SandboxPlace, { rounds, files }: Size): Promise<Row[]> {
  const build = fileBuild(tree, files, isRoot ? { uid: 61_000, gid: 61_000 } : {})
  await using box = await driver.find('kept')
  if (box === undefined) throw new Error(`There is no box around ${tree}`)
  const spent = { inside: [] as number[], outside: [] as number[] }
  const times = await compete(rounds, {
    inside: async () => spent.inside.push(await build.inside(box)),
    outside: async () => spent.outside.push(await build.outside()),
  })
  const name = `a build with ${files} small files, inside; outside`
  return [
    row(name, times.inside, times.outside, { goal: 1.05, note: '' }),
    row(`${name}: processor time`, median(spent.inside), median(spent.outside), { goal: 1.05, note: '' }),
  ]
}

function idleNode(): number {
  const script = `console.log(process.memoryUsage.rss())`
  return Number(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' })) / 1024 / 1024
}

if (import.meta.main) {
  const [mode, folder = '', own = '', rounds, files, runtime] = process.argv.slice(2)
  const size = { rounds: Number(rounds), files: Number(files) }
  if (mode === 'measure') console.log(JSON.stringify(await measure(folder, own, size, runtime === 'runtime')))
  else console.table(await benchSandbox({ rounds: 25, files: 5000 }))
}
