import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AwError } from '../../../src/domain/errors.ts'
import type { Sandbox, SandboxSpec } from '../../../src/ports/sandbox-driver.ts'
import { boxUid, isRoot, type LevelName, openPlace, owner, type Place } from '../fixture.ts'
import {
  type Attack,
  type BoxParts,
  type Ended,
  type Ground,
  type Outcome,
  outcomeOf,
  type RunOptions,
  type Stage,
  type Where,
} from './attack.ts'
import { endGroup, runOnHost, startOnHost } from './host-run.ts'
import { patience, processesWith, within } from './host-processes.ts'
import { startPlanned } from '../../contracts/sandbox.ts'

const uid = isRoot ? boxUid : (process.getuid?.() ?? 0)
const tools = process.env['AW_ESCAPE_TOOLS'] ?? ''

/** One place to try attacks in, one after another, with a box that those share which leave it as it was. */
export interface Theatre extends AsyncDisposable {
  perform(attack: Attack): Promise<Outcome>
}

export function openTheatre(where: Where): Theatre {
  // Root has its homes where only it can enter; the attacker's own things are where it can get to them.
  const base = mkdtempSync(join(tmpdir(), 'aw-escape-'))
  chmodSync(base, 0o755)
  const place = where === 'plain' ? undefined : openPlace(where)
  const tree = place?.tree ?? join(base, 'tree')
  if (place === undefined) mkdirSync(tree)
  own(tree, where)
  install(join(tree, 'attack'), where)
  let shared: Sandbox | undefined

  return {
    async perform(attack) {
      await using cleanup = new AsyncDisposableStack()
      const ground = prepare(base, tree, where, attack.name)
      cleanup.defer(() => endMarked(ground.marker))
      try {
        const box = place && (await boxFor(attack, place, ground, cleanup))
        const stage = stageOf({ where, tree, ground, box, cleanup, expected: outcomeOf(attack, where) })
        const outcome = (await attack.attempt(stage)) ? 'not held' : 'held'
        if (box !== undefined && box.sandbox === shared) await mustLive(box)
        return outcome
      } catch (error) {
        if (error instanceof AwError && error.code === 'sandbox_unenforceable') return 'refused'
        throw error
      }
    },
    async [Symbol.asyncDispose]() {
      await shared?.stop({ graceMs: 0 }).catch(() => undefined)
      place?.close()
      rmSync(base, { recursive: true, force: true })
    },
  }

  async function boxFor(attack: Attack, at: Place, ground: Ground, cleanup: AsyncDisposableStack): Promise<BoxParts> {
    const level = where as LevelName
    const { driver, spec } = at
    const parts = (sandbox: Sandbox, used: SandboxSpec): BoxParts => ({ sandbox, driver, spec: used, place: at })
    if (attack.spec === undefined && attack.alone !== true) {
      shared ??= await startPlanned(driver, 'shared', spec)
      return parts(shared, spec)
    }
    const special = { ...spec, ...attack.spec?.(level, ground) }
    const sandbox = await startPlanned(driver, `own-${attack.name}`, special)
    cleanup.defer(() => driver.remove(sandbox.name))
    cleanup.defer(() => sandbox[Symbol.asyncDispose]())
    return parts(sandbox, special)
  }
}

/** What ends a box for all who use it is found with the one that did it. */
async function mustLive({ sandbox }: BoxParts): Promise<void> {
  await sandbox.status()
}

function prepare(base: string, tree: string, where: Where, name: string): Ground {
  const marker = `aw-escape-${randomBytes(6).toString('hex')}`
  const ground = { uid, marker, tools, own: join(tree, name), outside: join(base, name) }
  mkdirSync(ground.own)
  own(ground.own, where)
  mkdirSync(ground.outside)
  if (isRoot) chownSync(ground.outside, uid, uid)
  return ground
}

/** As it is in a tree: the box's user's own, or what is shown as its own. */
function own(path: string, where: Where): void {
  if (!isRoot) return
  const id = where === 'plain' ? uid : owner
  chownSync(path, id, id)
}

function install(path: string, where: Where): void {
  copyFileSync(join(tools, 'attack'), path)
  chmodSync(path, 0o755)
  own(path, where)
}

interface Staging {
  readonly where: Where
  readonly tree: string
  readonly ground: Ground
  readonly box: BoxParts | undefined
  readonly cleanup: AsyncDisposableStack
  readonly expected: Outcome | undefined
}

function stageOf({ where, tree, ground, box, cleanup, expected }: Staging): Stage {
  const { own: directory, marker } = ground
  const cwdOf = ({ cwd }: RunOptions): string => cwd ?? (directory.split('/').at(-1) as string)
  const marked = (argv: readonly string[]): string[] => argv.map((word) => (word === '%marker' ? marker : word))

  const run = (argv: readonly string[], options: RunOptions = {}): Promise<Ended> =>
    box === undefined
      ? runOnHost(uid, marked(argv), join(tree, cwdOf(options)), options)
      : runInBox(box.sandbox, marked(argv), cwdOf(options), options)

  async function hold(argv: readonly string[], options: RunOptions = {}): Promise<void> {
    const done = join(directory, 'done')
    if (box === undefined) {
      const child = startOnHost(uid, marked(argv), directory, options)
      child.stdout?.resume()
      cleanup.defer(() => endGroup(child))
      let ended = false
      child.once('exit', () => (ended = true))
      await within(patience, () => ended || existsSync(done))
    } else {
      const stop = new AbortController()
      let ended = false
      const over = runInBox(box.sandbox, marked(argv), cwdOf(options), options, stop.signal)
        .catch(() => undefined)
        .then(() => (ended = true))
      cleanup.defer(async () => {
        stop.abort()
        await over
      })
      await within(patience, () => ended || existsSync(done))
    }
  }

  return {
    ...ground,
    where,
    tree,
    box,
    tool: '../attack',
    run,
    hold,
    harmed: (ms, isSo) => within(expected === 'not held' ? patience : ms, isSo),
    held: (ms, isSo) => within(expected === 'held' ? patience : ms, isSo),
    defer: (act) => cleanup.defer(async () => void (await act())),
  }
}

async function runInBox(
  sandbox: Sandbox,
  argv: readonly string[],
  cwd: string,
  { terminal, env = {} }: RunOptions,
  signal?: AbortSignal,
): Promise<Ended> {
  const execution = sandbox.exec({ argv, cwd, env, terminal, signal, limits: { wall_ms: 20_000 } })
  let bytes = 0
  const reading = (async () => {
    for await (const { data } of execution.output) bytes += data.length
  })().catch(() => undefined)
  const { code } = await execution.exit.catch(notFound)
  await reading
  return { code, bytes }
}

/** What cannot be run behind a wall has not run. */
function notFound(error: unknown): { code: number } {
  if (error instanceof AwError && ['file_not_found', 'permission_denied'].includes(error.code)) return { code: 127 }
  throw error
}

/** Whatever an attack left, in a box or out of it. */
async function endMarked(marker: string): Promise<void> {
  const gone = await within(patience, () => {
    for (const pid of processesWith(marker)) tryKill(pid)
    return processesWith(marker).length === 0
  })
  if (!gone) throw new Error(`processes of ${marker} are left: ${processesWith(marker).join(' ')}`)
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has just ended, or belongs to another; then the check after this one says so.
  }
}
