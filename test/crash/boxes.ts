import { createHash } from 'node:crypto'
import { existsSync, globSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Manager } from '../../src/ports/manager.ts'
import { ownersOf } from '../sandbox/home.ts'

/**
 * Log == disk == kernel for the sandboxes of a home, read by hand: each that the log knows lives, and of no other is
 * there a directory, a process, a cgroup or a mount. Commands that nobody waits for are closed in the log.
 */
export async function checkBoxes(home: string, manager: Manager): Promise<void> {
  const all = await manager.call('list', { all: true })
  expect(all.filter(({ commands }) => commands > 0)).toEqual([])
  const boxes = all.flatMap(({ sandbox }) => sandbox?.id ?? []).toSorted()
  const run = join(home, 'run')
  // A write recovers the workspace that it touches; what stands for no workspace is for `recover`.
  if (directoriesIn(run).some((name) => /^(?:new|probe)-/.test(name))) await manager.call('recover', {})
  expect(directoriesIn(run)).toEqual(boxes)
  const owners = boxes.map((box) => ownersOf(join(run, box)))
  const known = new Set(owners.flatMap(({ inside }) => inside.map(({ pid }) => pid)))
  const supervisors = owners.map(({ supervisor }) => supervisor.pid)
  for (const pid of supervisors) expect(readFileSync(`/proc/${pid}/comm`, 'utf8')).toBe('aw-box\n')
  // An ordinary user may not look into them.
  const isRoot = process.getuid?.() === 0
  if (isRoot) expect(new Set(holdersOf(run).filter((pid) => !known.has(pid)))).toEqual(new Set(supervisors))
  expect(cgroupsOf(run)).toEqual(isRoot ? boxes : [])
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
  expect(mounted.filter((path) => path.startsWith(`${run}/`) || path.startsWith('/run/aw/stage'))).toEqual([])
}

/** Without what many boxes have in common. */
const directoriesIn = (run: string): string[] =>
  existsSync(run)
    ? readdirSync(run)
        .filter((name) => !/^\.(?:parts|bwrap|works-\w+)$/.test(name))
        .toSorted()
    : []

/** Whoever has something below the directory open: a supervisor the directory of its box. Needs root. */
function holdersOf(run: string): number[] {
  const holds = (pid: string): boolean => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`).startsWith(`${run}/`))
    } catch {
      return false
    }
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && holds(name))
    .map(Number)
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** The boxes that have a cgroup; each has one of every controller, or none. */
function cgroupsOf(run: string): string[] {
  const suffix = `.${createHash('sha256').update(run).digest('hex').slice(0, 8)}`
  const names = globSync(['/sys/fs/cgroup/aw/*', '/sys/fs/cgroup/*/aw/*'])
    .filter((path) => path.endsWith(suffix))
    .map((path) => path.split('/').at(-1)?.slice(0, -suffix.length) ?? '')
  return [...new Set(names)].toSorted()
}
