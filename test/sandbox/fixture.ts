import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { guardedSandbox } from '../../src/drivers/sandbox/guarded.ts'
import { namespaceSandbox } from '../../src/drivers/sandbox/namespace.ts'
import { noneSandbox } from '../../src/drivers/sandbox/none.ts'
import type { SandboxDriver, SandboxSpec } from '../../src/ports/sandbox-driver.ts'
import { proxyCommand } from '../../src/drivers/sandbox/proxy/program.ts'
import type { Programs, SandboxSubject } from '../contracts/sandbox.ts'

export type LevelName = 'none' | 'guarded' | 'namespace'

export const levels: readonly LevelName[] = ['none', 'guarded', 'namespace']
export const isRoot = process.getuid?.() === 0

/** Whom trees belong to when root runs the tests, and whom boxes then run as. */
export const owner = 61_000
export const boxUid = 700_000_123
const proxyUid = 699_999_876

const drivers = { none: noneSandbox, guarded: guardedSandbox, namespace: namespaceSandbox }

const programs: Programs = {
  echo: (text) => ['echo', text],
  complain: (text) => ['sh', '-c', 'echo "$1" >&2', 'sh', text],
  exit: (status) => ['sh', '-c', `exit ${status}`],
  sleep: (ms) => ['sleep', String(ms / 1000)],
  cat: (...paths) => ['cat', ...paths],
  write: (path, text) => ['sh', '-c', 'printf %s "$2" > "$1"', 'sh', path, text],
  env: (name) => ['printenv', name],
  pwd: () => ['pwd'],
  flood: (bytes) => ['head', '-c', String(bytes), '/dev/zero'],
}

export interface Place extends SandboxSubject {
  readonly base: string
  readonly tree: string
  /** What the tree's owner does in it. */
  readonly make: (path: string, content?: string) => void
}

/** A tree and a directory for boxes, below directories that nobody else may enter: as a home has them. */
export function openPlace(level: LevelName): Place {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-box-'))
  const tree = join(base, 'volumes', 'ws_1')
  const run = join(base, 'run')
  fs.mkdirSync(dirname(tree))
  fs.mkdirSync(tree, { mode: 0o755 })
  own(tree)
  const open = (): SandboxDriver => drivers[level]({ run, proxy: proxyCommand() })
  const make = (path: string, content?: string): void => {
    const whole = join(tree, path)
    for (const parent of parentsOf(path)) makeDirectory(join(tree, parent))
    if (content === undefined) return makeDirectory(whole)
    fs.writeFileSync(whole, content)
    own(whole)
  }
  return {
    base,
    tree,
    make,
    driver: open(),
    reopen: open,
    spec: specFor(level, tree),
    owner: isRoot ? owner : undefined,
    programs,
    write: make,
    read: (path) => (fs.existsSync(join(tree, path)) ? fs.readFileSync(join(tree, path), 'latin1') : undefined),
    close: () => execFileSync('rm', ['-rf', base]),
  }
}

function specFor(level: LevelName, path: string): SandboxSpec {
  return {
    attachment: { kind: 'dir', path },
    mount: '/workspace',
    protect: [],
    binds: [],
    network: { mode: level === 'none' ? 'host' : 'none' },
    limits: {},
    defaults: {},
    cgroupRequired: false,
    env: {},
    uid: isRoot ? boxUid : undefined,
    proxyUid: isRoot ? proxyUid : undefined,
  }
}

const parentsOf = (path: string): string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, index, names) => names.slice(0, index + 1).join('/'))

function makeDirectory(path: string): void {
  if (fs.existsSync(path)) return
  fs.mkdirSync(path)
  own(path)
}

function own(path: string): void {
  if (isRoot) fs.lchownSync(path, owner, owner)
}
