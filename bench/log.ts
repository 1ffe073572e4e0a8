import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { NewEvent, StreamId } from '../src/domain/log/event.ts'
import { sqliteEvents } from '../src/drivers/events/sqlite/sqlite.ts'
import { systemClock } from '../test/support/log-home.ts'
import { creation, newId, sampleEvent } from '../test/support/sample-events.ts'
import type { Row } from './row.ts'

/**
 * A durable append against the same statements, with the same values, issued by hand through node:sqlite: what the
 * checks, the hash chain, the read model and the port cost on top of the disk. Both run in turns, in one process, on one
 * file system.
 */

interface Append {
  readonly stream: StreamId
  readonly expected: number
  readonly events: readonly NewEvent[]
}

interface Call {
  readonly sql: string
  readonly method: 'run' | 'get' | 'all'
  readonly cells: readonly (string | number | null)[]
}

export async function benchLog(): Promise<Row[]> {
  const note = `${countFsyncs()}; same statements and values`
  // Fifty events wait for the disk once, so what each costs in hashing and encoding shows.
  const batch = `${note}; 50 events a wait for the disk`
  return [
    await compare({ name: 'log: append an event', count: 1500, make: labelled(1), goal: 1.2, note }),
    await compare({ name: 'log: append an intent (a new workspace)', count: 1500, make: intents, goal: 1.2, note }),
    await compare({ name: 'log: append 50 events at once', count: 300, make: labelled(50), goal: 2, note: batch }),
  ]
}

interface Comparison extends Pick<Row, 'name' | 'goal' | 'note'> {
  readonly count: number
  readonly make: (count: number) => Append[]
}

async function compare({ name, count, make, goal, note }: Comparison): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-log-'))
  try {
    const raw = await record(folder, make(count))
    await using store = await sqliteEvents({ file: join(folder, 'ours.db'), clock: systemClock })
    const ours: number[] = []
    const baseline: number[] = []
    for (const [i, { stream, expected, events }] of make(count).entries()) {
      const turns = [
        async () => ours.push(await time(() => store.append(stream, expected, events))),
        async () => baseline.push(await time(async () => raw.replay(i))),
      ]
      for (const turn of i % 2 === 0 ? turns : turns.toReversed()) await turn()
    }
    raw.close()
    const [a, b] = [median(ours), median(baseline)]
    return { name, ours: a, baseline: b, ratio: a / b, goal, unit: 'ms', note }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Has the store do it once, notes every statement, and prepares to do the same to a copy of where it began. */
async function record(
  folder: string,
  appends: readonly Append[],
): Promise<{ replay: (i: number) => void; close: () => void }> {
  const [file, copy] = [join(folder, 'recorded.db'), join(folder, 'raw.db')]
  await (await sqliteEvents({ file, clock: systemClock }))[Symbol.asyncDispose]()
  copyFileSync(file, copy)
  await using store = await sqliteEvents({ file, clock: systemClock })
  const recorded: Call[][] = []
  for (const { stream, expected, events } of appends) {
    recorded.push(await listen(() => store.append(stream, expected, events)))
  }
  const database = new DatabaseSync(copy)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const calls = recorded.map((list) =>
    list.map(({ sql, method, cells }) => ({ statement: prepared(sql), method, cells })),
  )
  return {
    replay: (i) => {
      for (const { statement, method, cells } of calls[i] ?? []) statement[method](...cells)
    },
    close: () => database.close(),
  }
}

async function listen(work: () => Promise<unknown>): Promise<Call[]> {
  const heard: Call[] = []
  const prototype = StatementSync.prototype as unknown as Record<string, (...cells: never[]) => unknown>
  const originals = { run: prototype['run'], get: prototype['get'], all: prototype['all'] }
  for (const [method, original] of Object.entries(originals)) {
    prototype[method] = function (this: StatementSync, ...cells: never[]): unknown {
      heard.push({ sql: this.sourceSQL, method: method as Call['method'], cells })
      return original?.apply(this, cells)
    }
  }
  try {
    await work()
  } finally {
    Object.assign(prototype, originals)
  }
  return heard
}

function intents(count: number): Append[] {
  return Array.from({ length: count }, (_, i) => ({
    stream: newId('ws'),
    expected: 0,
    events: [creation(`task-${i}`).intent],
  }))
}

/** Appends to workspaces that are ready: the first ones make them. */
const labelled =
  (batch: number) =>
  (count: number): Append[] => {
    const label = (): NewEvent => sampleEvent('workspace_labelled', { data: { labels: { n: 'one' } } })
    const workspaces = Array.from({ length: 20 }, (_, i) => ({
      id: newId('ws'),
      version: 0,
      made: creation(`task-${i}`),
    }))
    return Array.from({ length: count }, (_, i) => {
      const workspace = workspaces[i % workspaces.length] ?? { id: newId('ws'), version: 0, made: creation('x') }
      const { intent, outcome } = workspace.made
      const events = workspace.version === 0 ? [intent, outcome] : Array.from({ length: batch }, label)
      const append = { stream: workspace.id, expected: workspace.version, events }
      workspace.version += events.length
      return append
    })
  }

async function time(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** How often an append waits for the disk, counted by strace in a process of its own. */
function countFsyncs(): string {
  if (spawnSync('strace', ['-V']).status !== 0) return 'install strace to count the fsyncs'
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-log-'))
  try {
    return `${(fsyncsOf(folder, 110) - fsyncsOf(folder, 10)) / 100} fsyncs an append (strace)`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function fsyncsOf(folder: string, appends: number): number {
  const [file, trace] = [join(folder, `${appends}.db`), join(folder, `${appends}.trace`)]
  const program = [process.execPath, fileURLToPath(import.meta.url), 'append', file, String(appends)]
  execFileSync('strace', ['-f', '-qq', '-e', 'trace=fsync,fdatasync', '-o', trace, ...program])
  const lines = readFileSync(trace, 'utf8').split('\n')
  return lines.filter((line) => /f(data)?sync\(/.test(line)).length
}

async function appendOnly(file: string, count: number): Promise<void> {
  await using store = await sqliteEvents({ file, clock: systemClock })
  for (const { stream, expected, events } of labelled(1)(count)) await store.append(stream, expected, events)
}

if (import.meta.main) {
  const [mode, file = '', count] = process.argv.slice(2)
  if (mode === 'append') await appendOnly(file, Number(count))
  else console.table(await benchLog())
}
