/**
 * Runs the benchmarks, prints ratios and whether the goals are met, and writes bench/results/.
 *
 *   npm run bench [-- name …] [--quick] [--out DIRECTORY]
 *
 * `--quick` is small sizes and few rounds: it shows that they run, not how fast. AW_BENCH_DIR is where to run them;
 * without it root makes a journalled file system for them.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { inRoot } from '../tools/root.ts'
import { benchCli } from './cli.ts'
import { benchFiles } from './files.ts'
import { benchLifecycle } from './lifecycle.ts'
import { benchLog } from './log.ts'
import { atThePlace, facts } from './place.ts'
import { header, table, write } from './report.ts'
import { verdict, type Row } from './row.ts'

interface Benchmark {
  readonly run: () => Promise<Row[]>
  readonly quick?: () => Promise<Row[]>
}

const benchmarks: Readonly<Record<string, Benchmark>> = {
  log: { run: benchLog },
  files: { run: benchFiles },
  lifecycle: { run: () => benchLifecycle(), quick: () => benchLifecycle({ rounds: 2, files: 20 }) },
  cli: { run: () => benchCli(), quick: () => benchCli({ rounds: 2 }) },
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, out: { type: 'string' } },
  })
  const names = Object.keys(benchmarks)
  const unknown = positionals.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`There is no benchmark ${unknown}; there are ${names.join(', ')}`)
  if (!(await atThePlace(fileURLToPath(import.meta.url)))) return

  const here = facts()
  console.log(header(here))
  const all: Row[] = []
  for (const name of positionals.length > 0 ? positionals : names) {
    const { run, quick } = benchmarks[name] ?? {}
    const measure = values.quick ? quick : run
    if (measure === undefined) continue
    console.log(`\n${name} …`)
    const rows = await measure()
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

if (import.meta.main) {
  await main().catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
