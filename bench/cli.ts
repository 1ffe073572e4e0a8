/** How long the command takes from nothing to its end, against a Node that does nothing. `node bench/cli.ts` */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fsyncNote, fsyncsOf } from './fsyncs.ts'
import { packageIn } from './package.ts'
import { compete, row, type Row } from './row.ts'

export async function benchCli({ rounds }: { rounds: number }): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-cli-'))
  try {
    return await measure(folder, packageIn(folder), rounds)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(folder: string, program: string, rounds: number): Promise<Row[]> {
  const env = { PATH: process.env['PATH'], HOME: folder, AW_HOME: join(folder, 'home') }
  const command = (...args: readonly string[]): string[] => [process.execPath, program, ...args]
  const run = ([program = '', ...args]: readonly string[]): void => {
    const { status, stderr } = spawnSync(program, args, { env, cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${args.slice(1).join(' ')} failed: ${stderr}`)
  }
  // Each command runs once before, so that its compiled code is kept.
  run(command('create', 'task/agent'))
  const times = await compete(rounds, {
    node: () => run([process.execPath, '-e', '0']),
    version: () => run(command('--version')),
    path: () => run(command('path', 'task/agent')),
    list: () => run(command('list', '--task', 'task')),
    create: (round) => run(command('create', `made-${round}/agent`)),
    destroy: {
      before: (round) => run(command('create', `gone-${round}/agent`)),
      timed: (round) => run(command('destroy', `gone-${round}/agent`)),
    },
  })
  const waits = (...args: readonly string[]): string => fsyncNote(fsyncsOf(command(...args), env))
  const fsyncs = {
    version: 'no home is opened',
    path: waits('path', 'task/agent'),
    list: waits('list'),
    create: waits('create', 'traced/agent'),
    destroy: waits('destroy', 'traced/agent'),
  }
  const names = { version: '--version', path: 'path', list: 'list', create: 'create', destroy: 'destroy' } as const
  return (Object.keys(names) as (keyof typeof names)[]).map((key) =>
    row(`aw ${names[key]}; node -e 0`, times[key], times.node, {
      goal: key === 'path' || key === 'create' ? 2 : null,
      note: fsyncs[key],
    }),
  )
}

if (import.meta.main) console.table(await benchCli({ rounds: 25 }))
