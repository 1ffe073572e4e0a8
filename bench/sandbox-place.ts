import { spawn } from 'node:child_process'
import { closeSync, chownSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { namespaceSandbox } from '../src/drivers/sandbox/namespace.ts'
import type { Network } from '../src/domain/sandbox/spec.ts'
import type { Sandbox, SandboxDriver, SandboxSpec } from '../src/ports/sandbox-driver.ts'
import { boxProgram } from '../src/drivers/sandbox/box/program.ts'
import { type BoxOwners, readOwners } from '../src/drivers/sandbox/box/record.ts'
import { proxyCommand } from '../src/drivers/sandbox/proxy/program.ts'
import { allSockets, seccompFilter } from '../src/drivers/sandbox/walls/seccomp.ts'

const isRoot = process.getuid?.() === 0
/** Whom root's workspaces belong to, and whom their boxes and the proxies of these run as. */
const [owner, boxUser, proxyUser] = [61_000, 700_000_123, 699_999_876]

/** A tree, the driver that makes boxes around it, and what it would be to do the same by hand. */
export interface SandboxPlace {
  readonly driver: SandboxDriver
  readonly tree: string
  readonly spec: (network?: Network) => SandboxSpec
  readonly ownersOf: (name: string) => BoxOwners
  /** Runs a program behind the walls of a box that is running: the same arguments for bubblewrap, and no more. */
  readonly plain: (name: string) => Promise<(...argv: readonly string[]) => Promise<void>>
}

export function sandboxPlace(folder: string): SandboxPlace {
  const run = join(folder, 'run')
  const tree = join(folder, 'tree')
  mkdirSync(tree, { recursive: true })
  if (isRoot) chownSync(tree, owner, owner)
  const driver = namespaceSandbox({ run, proxy: proxyCommand() })
  const ownersOf = (name: string): BoxOwners => {
    const owners = readOwners(join(run, name))
    if (owners === undefined) throw new Error(`There is no box ${name}`)
    return owners
  }
  return {
    driver,
    tree,
    ownersOf,
    spec: (network = { mode: 'none' }) => ({
      attachment: { kind: 'dir', path: tree },
      mount: '/workspace',
      protect: [],
      binds: [],
      network,
      limits: {},
      defaults: {},
      cgroupRequired: false,
      env: {},
      uid: isRoot ? boxUser : undefined,
      proxyUid: isRoot ? proxyUser : undefined,
    }),
    async plain(name) {
      await using box = await driver.find(name)
      if (box === undefined) throw new Error(`There is no box ${name}`)
      const argv = readFileSync(`/proc/${ownersOf(name).inside[0]?.pid}/cmdline`, 'utf8')
        .split('\0')
        .slice(0, -1)
      const walls = argv.slice(0, argv.lastIndexOf('--'))
      const files = await dataOf(walls, box, join(folder, 'data'))
      return (...command) => plainRun(byPath(walls, tree), files, command)
    },
  }
}

/** What the arguments name by a descriptor, as a file. */
async function dataOf(walls: readonly string[], box: Sandbox, folder: string): Promise<Map<string, string>> {
  mkdirSync(folder)
  const files = new Map<string, string>()
  for (const [at, flag] of walls.entries()) {
    const [number = '', target = ''] = walls.slice(at + 1)
    const file = join(folder, number)
    if (flag === '--seccomp') writeFileSync(file, seccompFilter({ sockets: allSockets }))
    else if (flag !== '--file' && flag !== '--ro-bind-data') continue
    else if (target.endsWith('/box')) writeFileSync(file, readFileSync(boxProgram()))
    else writeFileSync(file, (await output(box, 'cat', target)) ?? '')
    files.set(number, file)
  }
  return files
}

/** What is bound by a handle or from a stage is bound by its path: whoever does it by hand has no reason not to. */
function byPath(walls: readonly string[], tree: string): string[] {
  const words = [...walls]
  for (const [at, flag] of walls.entries()) {
    if (!/^--(?:ro-)?bind(?:-fd)?$/.test(flag) || !walls[at + 2]?.startsWith('/workspace')) continue
    words[at] = flag.replace('-fd', '')
    words[at + 1] = walls[at + 2]?.replace('/workspace', tree) ?? ''
  }
  return words
}

function plainRun(
  walls: readonly string[],
  files: ReadonlyMap<string, string>,
  command: readonly string[],
): Promise<void> {
  const words = [...walls]
  const opened = [...files].map(([number, file]) => {
    const fd = openSync(file, 'r')
    return { number, fd }
  })
  for (const [index, { number }] of opened.entries()) {
    const at = words.findIndex(
      (word, i) => word === number && /^--(?:seccomp|file|ro-bind-data)$/.test(words[i - 1] ?? ''),
    )
    words[at] = `${index + 3}`
  }
  const [bwrap = '', ...args] = [...words, '--', ...command]
  const child = spawn(bwrap, args, {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'pipe', 'inherit', ...opened.map(({ fd }) => fd)],
  })
  for (const { fd } of opened) closeSync(fd)
  return new Promise((resolve, reject) => {
    child
      .on('error', reject)
      .on('close', (code) => (code === 0 ? resolve() : reject(new Error(`bwrap ended with ${code}`))))
    child.stdout?.resume()
  })
}

/** What a command writes; it must succeed. */
export async function output(box: Sandbox, ...argv: readonly string[]): Promise<string> {
  const { output: chunks, exit } = box.exec({ argv, cwd: '.', env: {}, limits: {} })
  const parts: Uint8Array[] = []
  for await (const { data } of chunks) parts.push(data)
  const { code } = await exit
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}`)
  return Buffer.concat(parts).toString()
}

/** Megabytes that processes have in memory, each for itself: what they share counts for every one of them. */
export const memoryOf = (...pids: readonly number[]): number =>
  pids
    .map((pid) => readFileSync(`/proc/${pid}/status`, 'latin1'))
    .reduce((sum, text) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1]) / 1024, 0)
