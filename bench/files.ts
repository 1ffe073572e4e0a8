/** What safety costs: files read and listed below a root, against what one would run instead. `node bench/files.ts` */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRoot } from '../src/sys/safe-fs/index.ts'
import type { Row } from './row.ts'

const resolvers = ['openat2', 'walk'] as const

export async function benchFiles(): Promise<Row[]> {
  const dir = fs.mkdtempSync(join(tmpdir(), 'aw-bench-files-'))
  try {
    return [...readRows(dir), ...[1000, 10_000, 100_000].flatMap((files) => treeRows(dir, files))]
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

// -- reading ---------------------------------------------------------------------------------------------------------

function readRows(dir: string): Row[] {
  const path = 'one/two/three/four/five/file'
  fs.mkdirSync(join(dir, 'one/two/three/four/five'), { recursive: true })
  fs.writeFileSync(join(dir, path), 'x'.repeat(1024))
  return resolvers.map((resolver) => {
    const files = openRoot(dir, { resolver, protect: ['.aw'] })
    const whole = join(dir, path)
    const [ours, baseline] = compare(
      { runs: 25, calls: 2000 },
      () => files.read(path),
      () => fs.readFileSync(whole),
    )
    files[Symbol.dispose]()
    return row(`read 1 KiB at depth 6, ${resolver}`, ours * 1e6, baseline * 1e6, {
      goal: resolver === 'openat2' ? 2 : 12,
      unit: 'µs',
      note: 'against fs.readFileSync',
    })
  })
}

// -- listing ---------------------------------------------------------------------------------------------------------

function treeRows(dir: string, count: number): Row[] {
  const root = join(dir, `tree-${count}`)
  for (let group = 0; group < count / 100; group++) {
    const folder = join(root, `group-${group % 10}`, `part-${group}`)
    fs.mkdirSync(folder, { recursive: true })
    for (let n = 0; n < 100; n++) fs.writeFileSync(join(folder, `file-${n}.ts`), '')
  }
  const find = (): number => findTree(root).length
  return resolvers.map((resolver) => {
    const files = openRoot(root, { resolver })
    const expected = find()
    if (files.tree('').entries.length !== expected) throw new Error('The listing is not what find says')
    const [ours, baseline] = compare({ runs: count > 50_000 ? 9 : 25, calls: 1 }, () => files.tree(''), find)
    files[Symbol.dispose]()
    return row(`tree of ${count} files, ${resolver}`, ours * 1e3, baseline * 1e3, {
      goal: 1.2,
      unit: 'ms',
      note: 'against find -printf, its answer read and split; ours is in order',
    })
  })
}

function findTree(root: string): { path: string; kind: string }[] {
  const { stdout } = spawnSync('find', [root, '-mindepth', '1', '-printf', '%y%P\\0'], { maxBuffer: 2 ** 30 })
  const lines = stdout.toString().split('\0')
  lines.pop()
  return lines.map((line) => ({ path: line.slice(1), kind: line.charAt(0) }))
}

// -- measuring -------------------------------------------------------------------------------------------------------

/** Seconds a call of each, medians; the two take turns, so that what disturbs one disturbs the other. */
function compare(size: { runs: number; calls: number }, one: () => unknown, other: () => unknown): [number, number] {
  const [ones, others]: [number[], number[]] = [[], []]
  for (let run = -2; run < size.runs; run++) {
    const [first, second] = [time(size.calls, one), time(size.calls, other)]
    if (run < 0) continue // Warm up.
    ones.push(first)
    others.push(second)
  }
  return [median(ones), median(others)]
}

function time(calls: number, call: () => unknown): number {
  const start = process.hrtime.bigint()
  for (let n = 0; n < calls; n++) call()
  return Number(process.hrtime.bigint() - start) / 1e9 / calls
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

const row = (
  name: string,
  ours: number,
  baseline: number,
  about: { goal: number; unit: string; note: string },
): Row => ({ name, ours, baseline, ratio: ours / baseline, ...about })

if (import.meta.main) {
  for (const { name, ours, baseline, ratio, goal, unit, note } of await benchFiles()) {
    const figures = `${ours.toFixed(1)} ${unit} / ${baseline.toFixed(1)} ${unit} = ${ratio.toFixed(2)}x`
    console.log(`${name.padEnd(34)} ${figures.padEnd(34)} goal ${goal}x   ${note}`)
  }
}
