import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Facts } from './place.ts'
import { verdict, type Row } from './row.ts'

/** One benchmark's file in the results. No date, no host, no path: two runs on equal machines differ in figures only. */
export interface Result {
  readonly facts: Facts
  readonly rows: readonly Row[]
}

const heads = ['compared', 'ours', 'instead', 'ratio', 'goal', '', 'note'] as const

const cells = (row: Row): string[] => [
  row.name,
  amount(row.ours, row.unit),
  amount(row.baseline, row.unit),
  ratio(row.ratio),
  row.goal === null ? '-' : `<= ${row.goal < 0.2 ? ratio(row.goal) : row.goal}`,
  verdict(row),
  row.note,
]

/** Small ones as a part: `1/187` is 187 times faster. */
const ratio = (value: number): string => (value >= 0.2 || value <= 0 ? value.toFixed(2) : `1/${(1 / value).toFixed(0)}`)

const amount = (value: number, unit: string): string => `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`

export function header(facts: Facts): string {
  const journal = { yes: 'with a journal', no: 'WITHOUT a journal: the baselines are slower than usual', unknown: '' }
  return [
    `${facts.cores} cores, Linux ${facts.kernel}, Node ${facts.node}`,
    `file system: ${facts.fileSystem} ${journal[facts.journal]}`.trimEnd(),
    `log: ${facts.log}`,
  ].join('\n')
}

/** For the terminal. */
export function table(rows: readonly Row[]): string {
  const lines = [[...heads], ...rows.map(cells)]
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Writes this run's results, and one page about all there are. */
export function write(folder: string, name: string, names: readonly string[], result: Result): void {
  mkdirSync(folder, { recursive: true })
  const rows = result.rows.map((row) => ({ ...row, verdict: verdict(row) }))
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify({ facts: result.facts, rows }, null, 2)}\n`)
  const known = names.filter((one) => existsSync(join(folder, `${one}.json`)))
  writeFileSync(join(folder, 'README.md'), page(known.map((one) => [one, read(folder, one)])))
}

const read = (folder: string, name: string): Result =>
  JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Result

function page(results: readonly (readonly [string, Result])[]): string {
  const parts = results.map(([name, { facts, rows }]) =>
    [
      `## ${name}`,
      header(facts).split('\n').join('  \n'),
      [line(heads), line(heads.map(() => '---')), ...rows.map((row) => line(cells(row)))].join('\n'),
    ].join('\n\n'),
  )
  return `${[introduction, ...parts].join('\n\n')}\n`
}

const line = (texts: readonly string[]): string => `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`

const introduction = `# Benchmarks

Written by \`npm run bench\`. Each line compares ours with what a user would run instead, in the same run and in turns;
figures are medians, and the ratio is what counts: the machine may have had other work to do.`
