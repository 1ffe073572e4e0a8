/**
 * Runs the benchmarks, prints ratios and whether the goals are met, and writes bench/results/.
 *
 *   npm run bench [-- name …] [--quick] [--out DIRECTORY]
 *
 * `--quick` is small sizes and few rounds: it shows that they run, not how fast. AW_BENCH_DIR is where to run them;
 * without it root makes a journalled file system for them.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { inRoot } from '../tools/root.ts'
import { atThePlace, facts } from './place.ts'
import { header, table, write } from './report.ts'
import { verdict, type Row } from './row.ts'

type Measure = () => Promise<readonly Row[]>

const storageSizes = {
  trees: [
    { files: 1000, rounds: 11 },
    { files: 10_000, rounds: 11 },
    { files: 100_000, rounds: 3 },
  ],
  drivers: ['btrfs', 'overlay', 'dir'],
} as const

/** What is there to run, and the small form of it where there is one. Loaded by the process that runs it. */
const benchmarks: Readonly<Record<string, { full: Measure; quick?: Measure }>> = {
  log: { full: async () => (await import('./log.ts')).benchLog() },
  files: { full: async () => (await import('./files.ts')).benchFiles() },
  lifecycle: {
    full: async () => (await import('./lifecycle.ts')).benchLifecycle({ rounds: 25, files: 1000 }),
    quick: async () => (await import('./lifecycle.ts')).benchLifecycle({ rounds: 2, files: 20 }),
  },
  storage: {
    full: async () => (await import('./storage.ts')).benchStorage(storageSizes),
    quick: async () =>
      (await import('./storage.ts')).benchStorage({ ...storageSizes, trees: [{ files: 200, rounds: 1 }] }),
  },
  sources: {
    full: async () => (await import('./sources.ts')).benchSources({ files: 10_000, rounds: 5 }),
    quick: async () => (await import('./sources.ts')).benchSources({ files: 200, rounds: 1 }),
  },
  sandbox: {
    full: async () => (await import('./sandbox.ts')).benchSandbox({ rounds: 31, files: 5000 }),
    quick: async () => (await import('./sandbox.ts')).benchSandbox({ rounds: 1, files: 100 }),
  },
  daemon: {
    full: async () => (await import('./daemon.ts')).benchDaemon({ rounds: 25 }),
    quick: async () => (await import('./daemon.ts')).benchDaemon({ rounds: 2 }),
  },
  cli: {
    full: async () => (await import('./cli.ts')).benchCli({ rounds: 25 }),
    quick: async () => (await import('./cli.ts')).benchCli({ rounds: 2 }),
  },
}

const names = Object.keys(benchmarks)
const script = fileURLToPath(import.meta.url)

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, out: { type: 'string' }, only: { type: 'string' } },
  })
  const size = values.quick ? 'quick' : 'full'
  if (values.only !== undefined) {
    console.log(JSON.stringify(await benchmarks[values.only]?.[size]?.()))
    return
  }
  const unknown = positionals.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`There is no benchmark ${unknown}; there are ${names.join(', ')}`)
  if (!(await atThePlace(script))) return

  const here = facts()
  console.log(header(here))
  const all: Row[] = []
  for (const name of positionals.length > 0 ? positionals : names) {
    if (benchmarks[name]?.[size] === undefined) continue
    console.log(`\n${name} …`)
    const rows = inProcessOfItsOwn(name, values.quick)
    console.log(table(rows))
    // A quick run says nothing about speed: it must not stand in the results.
    const out = values.out ?? (values.quick ? undefined : inRoot(join('bench', 'results')))
    if (out !== undefined) write(out, name, names, { facts: here, rows })
    all.push(...rows)
  }
  const judged = all.filter((row) => row.goal !== null)
  const missed = judged.filter((row) => verdict(row) === 'missed')
  console.log(`\n${judged.length - missed.length} of ${judged.length} goals are met.`)
  for (const { name } of missed) console.log(`Missed: ${name}`)
}

/** A program that has grown starts others slowly: what an earlier benchmark left in memory would slow the baselines. */
function inProcessOfItsOwn(name: string, quick: boolean): Row[] {
  const args = [script, '--only', name, ...(quick ? ['--quick'] : [])]
  const text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(text) as Row[]
}

if (import.meta.main) {
  await main().catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
