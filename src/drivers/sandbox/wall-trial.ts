import { closeSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toAwError } from '../../domain/errors.ts'
import { proxyPort } from '../../domain/network/proxy-port.ts'
import type { Grades, Limits, Network } from '../../domain/sandbox/spec.ts'
import type { Sandbox, SandboxDriver, SandboxSpec } from '../../ports/sandbox-driver.ts'
import { hostFs } from '../../sys/fs/host-fs.ts'
import { hasId } from '../../sys/processes/ids.ts'
import { boxProgram } from './box/program.ts'
import { ensureRunDirectory } from './box/record.ts'
import { ownedTemporaryName } from './box/temporary-files.ts'
import { listenOnLoopback } from './proxy/loopback.ts'

/** One try to get through a wall, from inside. */
export interface WallCheck {
  readonly wall: string
  /** Untried: nobody knows, as something else was in the way. */
  readonly verdict: 'held' | 'open' | 'untried'
  /** As it should be, in words; and why it was not tried. */
  readonly what: string
}

export type WallTrial =
  | {
      readonly usable: true
      readonly tries: readonly WallCheck[]
      readonly grades: Grades
      readonly notes: readonly string[]
    }
  | { readonly usable: false; readonly reason: string; readonly hint: string | undefined }

/** Starts a box of the level, whether one worked before or not, and has a program in it try its walls. */
export async function testWalls(driver: SandboxDriver, run: string): Promise<WallTrial> {
  try {
    using place = trialPlace(run)
    await using service = await listenOnLoopback()
    const spec = trialSpec(driver, place, service.port)
    const box = await driver.start(place.name, await driver.plan(spec))
    try {
      const proxied = spec.network.mode === 'allowlist'
      const tries =
        driver.isolation === 'none' ? [] : await runWallChecks(box, place, service.port, proxied ? proxyPort : 0)
      return { usable: true, tries, grades: box.plan.grades, notes: box.plan.notes }
    } finally {
      await box.stop({ graceMs: 0 })
    }
  } catch (error) {
    const { message, hint } = toAwError(error)
    return { usable: false, reason: message, hint }
  }
}

const networks: Readonly<Record<SandboxDriver['isolation'], (port: number) => Network>> = {
  none: () => ({ mode: 'host' }),
  guarded: () => ({ mode: 'none' }),
  namespace: (port) => ({ mode: 'allowlist', allow: [`localhost:${port}`] }),
}

/** Whatever nobody keeps here is left out of these, and told. */
const everyLimit: Limits = {
  memory_mb: 512,
  cpu_percent: 100,
  processes: 64,
  open_files: 256,
  file_size_mb: 64,
  wall_ms: 20_000,
  output_mb: 1,
}

const trialSpec = (driver: SandboxDriver, { tree, uid, proxyUid, proxied }: TrialPlace, port: number): SandboxSpec => ({
  attachment: { kind: 'dir', path: tree },
  mount: '/workspace',
  protect: [],
  binds: [],
  network: driver.isolation === 'namespace' && !proxied ? { mode: 'none' } : networks[driver.isolation](port),
  limits: {},
  defaults: everyLimit,
  cgroupRequired: false,
  env: {},
  uid,
  proxyUid,
  once: true,
})

async function runWallChecks(box: Sandbox, { outside }: TrialPlace, port: number, proxy: number): Promise<WallCheck[]> {
  const program = await box.put('walls', readFileSync(boxProgram()), 0o500)
  const argv = [program, 'walls', outside, String(process.pid), String(port), String(proxy)]
  const { output, exit } = box.exec({ argv, cwd: '.', env: {}, limits: {} })
  const chunks: Uint8Array[] = []
  for await (const { data } of output) chunks.push(data)
  const { code, signal } = await exit
  if (code !== 0) throw new Error(`what tries the walls ended with ${signal ?? code}`)
  return parseWallChecks(Buffer.concat(chunks).toString('latin1'))
}

/** What the program that tries the walls has written. What cannot be read has held nothing. */
export const parseWallChecks = (text: string): WallCheck[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [, wall = '', verdict = 'open', what = ''] = /^(\w+) (held|open|untried) (.+)$/.exec(line) ?? []
      return { wall, verdict: verdict as WallCheck['verdict'], what }
    })

/** Somewhere to try the walls of a box, with something outside of them that must not be reached. */
interface TrialPlace extends Disposable {
  readonly name: string
  /** An empty directory, which is nobody's workspace. */
  readonly tree: string
  /** A file that whom the box runs as could read, if there were no walls. */
  readonly outside: string
  /** Whom the box runs as, if root starts it; and its proxy. */
  readonly uid: number | undefined
  readonly proxyUid: number | undefined
  /** Whether there is somebody who could be its proxy. */
  readonly proxied: boolean
}

function trialPlace(run: string): TrialPlace {
  ensureRunDirectory(run)
  const uid = process.getuid?.() === 0 && hasId(nobody) ? nobody : undefined
  const name = ownedTemporaryName('probe')
  const tree = join(run, `${name}.tree`)
  const own = join(run, `${name}.outside`)
  hostFs.mkdirSync(tree, 0o755)
  closeSync(hostFs.createSync(own, 0o644))
  if (uid !== undefined) hostFs.lchownSync(tree, uid, uid)
  return {
    name,
    tree,
    // Root's directory for boxes is closed to others anyway.
    outside: (uid === undefined ? undefined : openToAll.find((path) => existsSync(path))) ?? own,
    uid,
    proxyUid: uid === undefined ? undefined : uid - 1,
    proxied: uid !== undefined || process.getuid?.() !== 0,
    [Symbol.dispose]: () => {
      hostFs.unlinkSync(own)
      hostFs.rmdirSync(tree)
    },
  }
}

/** Everybody can read them, and boxes do not show them. */
const openToAll = ['/etc/hostname', '/etc/fstab', '/etc/machine-id']

const nobody = 65_534
