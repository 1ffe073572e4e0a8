import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const secret = 'SECRET-3f1c'

/**
 * A workspace with something worth having around it: `vault` and `ws-evil` beside it, `.aw` and `private` in it. It
 * knows whether any of that got out or changed.
 */
export interface Place extends Disposable {
  readonly base: string
  readonly ws: string
  in(path: string): string
  out(path: string): string
  /** A link in the workspace. */
  link(target: string, path: string): void
  run(...command: string[]): void
  /** A digest of everything that must not change. */
  guarded(): string
}

export function makePlace(): Place {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-attack-'))
  const place: Place = {
    base,
    ws: join(base, 'ws'),
    in: (path) => join(base, 'ws', path),
    out: (path) => join(base, path),
    link: (target, path) => fs.symlinkSync(target, join(base, 'ws', path)),
    run(...command) {
      const [program = '', ...args] = command
      execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    },
    guarded: () => digest(base),
    [Symbol.dispose]() {
      const mounts = mountsBelow(base)
      for (const mount of mounts) spawnSync('umount', ['-l', mount])
      if (mounts.length > 0 || !isRemoved(base)) spawnSync('rm', ['-rf', '--one-file-system', base])
    },
  }
  for (const dir of ['ws', 'ws/.aw', 'ws/d', 'vault', 'ws-evil']) fs.mkdirSync(place.out(dir))
  for (const file of ['vault/hoard', 'ws-evil/hoard', 'ws/private']) fs.writeFileSync(place.out(file), secret)
  fs.writeFileSync(place.out('vault/marker'), '')
  fs.writeFileSync(place.out('ws/.aw/state'), 'ours')
  fs.writeFileSync(place.out('ws/d/file'), 'inside')
  return place
}

/** There are thousands of them: a program for each would take most of the time. It is needed where paths are too long. */
function isRemoved(base: string): boolean {
  try {
    fs.rmSync(base, { recursive: true })
    return true
  } catch {
    return false
  }
}

/** They may have been moved since they were made; the deepest first. */
const mountsBelow = (base: string): string[] =>
  fs
    .readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((mount) => mount.startsWith(`${base}/`))
    .reverse()

/** Everything beside the workspace, and its metadata directory. */
function digest(base: string): string {
  const hash = createHash('sha256')
  const visit = (path: string): void => {
    const stats = fs.lstatSync(path, { throwIfNoEntry: false })
    hash.update(`${path} ${stats?.mode} ${stats?.uid} ${stats?.ino}\n`)
    if (stats?.isFile()) hash.update(fs.readFileSync(path))
    if (stats?.isSymbolicLink()) hash.update(fs.readlinkSync(path))
    if (stats?.isDirectory()) for (const name of fs.readdirSync(path).sort()) visit(join(path, name))
  }
  for (const name of fs.readdirSync(base).sort()) if (name !== 'ws') visit(join(base, name))
  visit(join(base, 'ws/.aw'))
  return hash.digest('hex')
}
