import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageIn } from './package.ts'
import { compete, row, type Row } from './row.ts'
import { openShell } from './shell.ts'
import { bestOf, type Instead } from './storage-instead.ts'
import { settingsOf, type DriverName } from './storage-ours.ts'
import { changeTen, type SourceTree } from './storage-tree.ts'

/** `served`: as it is installed, where a daemon does it. */
export interface CommandLine extends AsyncDisposable {
  readonly run: (args: readonly string[], served?: { readonly home: string }) => Promise<void>
}

interface Options {
  readonly driver: DriverName
  readonly home: string
  readonly root: string
  readonly files: number
  readonly rounds: number
  readonly instead: Instead
  readonly source: SourceTree
}

export function commandLine(folder: string): CommandLine {
  const place = join(folder, 'cli')
  mkdirSync(place)
  const program = packageIn(place)
  const shell = openShell(folder)
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, HOME: folder }
  return {
    run: (args, served) =>
      served === undefined
        ? shell.run([process.execPath, program, ...args], env)
        : shell.run([join(place, 'dist/aw'), ...args], { ...env, AW_HOME: served.home }),
    [Symbol.asyncDispose]: () => shell[Symbol.asyncDispose](),
  }
}

/** The command, from nothing to its end. */
export async function commandRows(cli: CommandLine, options: Options): Promise<Row[]> {
  const { driver, home, root, files, rounds, instead, source } = options
  const set = Object.entries(settingsOf(driver, root)).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const aw = (...args: readonly string[]): Promise<void> => cli.run([...args, '--home', home, ...set])
  const change = (): void => changeTen(join(home, 'workspaces/work/main'), source.files)
  const changed = async (): Promise<void> => {
    await aw('snapshot', 'work')
    change()
  }
  // The first rounds do not count: in them its compiled code is kept.
  const alone = await compete(rounds, {
    fork: (round) => aw('fork', 'origin', `cli-${round}`),
    snapshot: { before: change, timed: () => aw('snapshot', 'work') },
    restore: { before: changed, timed: () => aw('restore', 'work', 'head') },
    diff: { before: changed, timed: () => aw('diff', 'work@head') },
    destroy: {
      before: (round) => aw('fork', 'origin', `gone-cli-${round}`),
      timed: (round) => aw('destroy', `gone-cli-${round}`),
    },
  })
  const times = { ...alone, served: await forkServed(cli, options) }
  const note = 'a process of its own each time'
  const against = (what: keyof typeof alone, kind: keyof Instead, goal: number | null): Row => {
    const [name, best] = bestOf(instead[kind])
    return row(`${driver}, ${files} files: aw ${what}; ${name}`, times[what], best, { goal, note })
  }
  const forkGoal = driver !== 'dir' && files === 10_000 ? 1 / 8 : null
  const [copy, quickest] = bestOf(instead.copy)
  const rows = [
    against('fork', 'copy', forkGoal),
    row(`${driver}, ${files} files: aw fork, served; ${copy}`, times.served, quickest, {
      goal: forkGoal,
      note: 'a daemon runs',
    }),
    against('snapshot', 'commit', null),
    against('restore', 'reset', null),
    against('diff', 'status', null),
    against('destroy', 'remove', null),
  ]
  const plain = instead.copy['cp -a'] ?? Number.NaN
  if (files === 1000 && driver !== 'dir')
    rows.push(
      row(`${driver}, ${files} files: aw fork; cp -a`, times.fork, plain, { goal: 1, note }),
      row(`${driver}, ${files} files: aw fork, served; cp -a`, times.served, plain, { goal: 1, note: 'a daemon runs' }),
    )
  return rows
}

/** The same command where a daemon serves the home. Settings are in its file: who brings some is not served. */
async function forkServed(cli: CommandLine, { driver, home, root, rounds }: Options): Promise<number> {
  const file = join(home, 'aw.toml')
  const settings = Object.entries(settingsOf(driver, root)).map(
    ([key, value]) => `${key} = ${/^\d+$/.test(value) ? value : JSON.stringify(value)}\n`,
  )
  writeFileSync(file, settings.join(''))
  const aw = (...args: readonly string[]): Promise<void> => cli.run(args, { home })
  await aw('serve', '--detach')
  try {
    const { fork } = await compete(rounds, { fork: (round) => aw('fork', 'origin', `served-${round}`) })
    return fork
  } finally {
    await aw('serve', '--stop')
    rmSync(file)
  }
}
