import { expect } from 'vitest'
import { operations, type Inputs, type Outputs } from '../../src/api/table.ts'
import { toAwError } from '../../src/domain/errors.ts'
import type { Manager } from '../../src/ports/manager.ts'

type Event = Outputs['events']
type CallName = Exclude<(typeof operations)[number], { form: 'stream' }>['name']

/** What clients were told, to be compared with the log afterwards. */
export interface Told {
  readonly created: Set<string>
  readonly snapshots: Set<string>
  readonly destroyed: Set<string>
  /** Content by workspace and path. */
  readonly written: Map<string, string>
  readonly errors: Map<string, number>
  /** How long answers took, by operation. */
  readonly ms: Map<string, number[]>
}

export const nothingTold = (): Told => ({
  created: new Set(),
  snapshots: new Set(),
  destroyed: new Set(),
  written: new Map(),
  errors: new Map(),
  ms: new Map(),
})

/** The answer, or undefined after an error that the operation declares; every other one is thrown. */
export async function asked<N extends CallName>(
  manager: Manager,
  told: Told,
  name: N,
  input: Inputs[N],
  also: readonly string[] = [],
): Promise<Outputs[N] | undefined> {
  const begin = performance.now()
  try {
    const answer = await manager.call(name, input)
    const took = told.ms.get(name) ?? []
    told.ms.set(name, took)
    took.push(performance.now() - begin)
    return answer
  } catch (error) {
    const { code, message } = toAwError(error)
    const declared: readonly string[] = operations.find((one) => one.name === name)?.errors ?? []
    if (![...declared, ...also].includes(code))
      throw new Error(`${name} answered ${code}: ${message}`, { cause: error })
    told.errors.set(`${name}: ${code}`, (told.errors.get(`${name}: ${code}`) ?? 0) + 1)
    return undefined
  }
}

export async function eventsOf(manager: Manager): Promise<Event[]> {
  const all: Event[] = []
  for await (const event of manager.stream('events', {})) all.push(event)
  return all
}

const outcomes: Readonly<Record<string, readonly string[]>> = {
  workspace_create_started: ['workspace_created', 'workspace_source_failed', 'workspace_cleanup'],
  snapshot_started: ['snapshot_created'],
  workspace_destroy_started: ['workspace_cleanup'],
  workspace_purge_started: ['workspace_purged'],
}

const operationOf = (event: Event | undefined): unknown => (event?.meta['operation'] as { id?: string } | null)?.id

/** A run is asked for before its workspace is made, and told of beside what else is done. */
const isOfRun = (type: string): boolean => /^(?:run|command|sandbox|workspace_slot)_/.test(type)

/** The log has no gap; in each stream one thing is done at a time, and each is finished or given up. */
export function checkOrder(events: readonly Event[]): void {
  expect(events.map(({ position }) => position)).toEqual(events.map((_, i) => i + 1))
  for (const [stream, own] of Map.groupBy(events, (event) => event.stream)) {
    expect(own.map(({ version }) => version)).toEqual(own.map((_, i) => i + 1))
    if (!stream.startsWith('ws_')) continue
    expect(own[0]?.type).toBe('workspace_create_started')
    let open: Event | undefined
    for (const event of own.filter(({ type }) => !isOfRun(type))) {
      const expected = open && [...(outcomes[open.type] ?? []), 'operation_taken', 'operation_abandoned']
      if (expected !== undefined) {
        expect(expected, `${stream} after ${open?.type}`).toContain(event.type)
        expect(operationOf(event), `${stream} after ${open?.type}`).toBe(operationOf(open))
      }
      if (event.type in outcomes) open = event
      else if (event.type !== 'operation_taken') open = undefined
    }
    expect(open, `${stream} is not finished`).toBeUndefined()
  }
}

/** What a client was told is in the log. */
export function checkTold(told: Told, events: readonly Event[]): void {
  const streamsWith = (type: string): Set<string> =>
    new Set(events.filter((event) => event.type === type).map(({ stream }) => stream))
  const snapshots = new Set(
    events.filter(({ type }) => type === 'snapshot_created').map(({ data }) => String(data['snapshot'])),
  )
  expect([...told.created].filter((id) => !streamsWith('workspace_created').has(id))).toEqual([])
  expect([...told.destroyed].filter((id) => !streamsWith('workspace_cleanup').has(id))).toEqual([])
  expect([...told.snapshots].filter((id) => !snapshots.has(id))).toEqual([])
}

/** For people. */
export function summary({ ms, errors }: Told): string {
  const lines = [...ms].map(([name, all]) => {
    const sorted = all.toSorted((a, b) => a - b)
    const at = (share: number): string => `${(sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)} ms`
    return `${name}: ${all.length} answers, p50 ${at(0.5)}, p99 ${at(0.99)}`
  })
  return [...lines, `errors ${JSON.stringify(Object.fromEntries(errors))}`].join('\n')
}
