import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { inRoot } from '../tools/root.ts'
import { compete, row, type Row } from './row.ts'
import { bestOf, type Instead } from './storage-instead.ts'
import { settingsOf, type DriverName } from './storage-ours.ts'
import { changeTen, type SourceTree } from './storage-tree.ts'

export type CommandLine = (...args: readonly string[]) => void

interface Options {
  readonly driver: DriverName
  readonly home: string
  readonly root: string
  readonly files: number
  readonly rounds: number
  readonly instead: Instead
  readonly source: SourceTree
}

/** Built aside, as dist/ may be made anew meanwhile. */
export function commandLine(folder: string): CommandLine {
  const place = join(folder, 'cli')
  mkdirSync(place)
  symlinkSync(inRoot('node_modules'), join(place, 'node_modules'))
  execFileSync(process.execPath, [inRoot('tools/build.ts'), join(place, 'dist')])
  const env = { PATH: process.env['PATH'], HOME: folder }
  return (...args) => {
    const { status, stderr } = spawnSync(process.execPath, [join(place, 'dist/aw.cjs'), ...args], {
      env,
      cwd: folder,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`aw ${args.join(' ')} failed: ${stderr}`)
  }
}

/** The command, from nothing to its end. */
export async function commandRows(cli: CommandLine, options: Options): Promise<Row[]> {
  const { driver, home, root, files, rounds, instead, source } = options
  const set = Object.entries(settingsOf(driver, root)).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const aw = (...args: readonly string[]): void => cli(...args, '--home', home, ...set)
  const change = (): void => changeTen(join(home, 'workspaces/work/main'), source.files)
  const changed = (): void => {
    aw('snapshot', 'work')
    change()
  }
  // The first rounds do not count: in them its compiled code is kept.
  const times = await compete(rounds, {
    fork: (round) => aw('fork', 'origin', `cli-${round}`),
    snapshot: { before: change, timed: () => aw('snapshot', 'work') },
    restore: { before: changed, timed: () => aw('restore', 'work', 'head') },
    diff: { before: changed, timed: () => aw('diff', 'work@head') },
    destroy: {
      before: (round) => aw('fork', 'origin', `gone-cli-${round}`),
      timed: (round) => aw('destroy', `gone-cli-${round}`),
    },
  })
  const note = 'a process of its own each time'
  const against = (what: keyof typeof times, kind: keyof Instead, goal: number | null): Row => {
    const [name, best] = bestOf(instead[kind])
    return row(`${driver}, ${files} files: aw ${what}; ${name}`, times[what], best, { goal, note })
  }
  const rows = [
    against('fork', 'copy', driver !== 'dir' && files === 10_000 ? 1 / 8 : null),
    against('snapshot', 'commit', null),
    against('restore', 'reset', null),
    against('diff', 'status', null),
    against('destroy', 'remove', null),
  ]
  const plain = instead.copy['cp -a'] ?? Number.NaN
  if (files === 1000 && driver !== 'dir')
    rows.push(row(`${driver}, ${files} files: aw fork; cp -a`, times.fork, plain, { goal: 1, note }))
  return rows
}
