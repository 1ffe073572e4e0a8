import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sqliteEvents } from '../../src/drivers/events/sqlite/sqlite.ts'
import type { WorkspaceId } from '../../src/domain/ids.ts'
import type { Checkpoint, Verification } from '../../src/ports/event-store.ts'
import { makeLogHome, type LogHome } from '../support/log-home.ts'
import { creation, newId, sampleEvent } from '../support/sample-events.ts'

/**
 * A log to be tampered with. Positions: 1 home; 2 3 `a` created; 4 5 `b` created; 6 `a` labelled; checkpoint 1;
 * 7 `b` labelled; checkpoint 2; unsealed: 8 `a` labelled, 9 `b` labelled.
 */
export interface StoredLog extends LogHome {
  readonly a: WorkspaceId
  readonly b: WorkspaceId
  readonly checkpoints: readonly (Checkpoint | undefined)[]
}

export async function makeLog(): Promise<StoredLog> {
  const home = makeLogHome()
  await using store = await sqliteEvents(home)
  const [a, b] = [newId('ws'), newId('ws')]
  for (const [task, id] of Object.entries({ a, b })) {
    const { intent, outcome } = creation(task)
    await store.append(id, 0, [intent, outcome])
  }
  const label = (task: string, n: number) =>
    sampleEvent('workspace_labelled', { data: { task_id: task, labels: { n: String(n) } } })
  await store.append(a, 2, [label('a', 1)])
  const first = await store.seal('2026-01-01T00:00:00.000Z')
  await store.append(b, 2, [label('b', 1)])
  const second = await store.seal('2026-01-02T00:00:00.000Z')
  await store.append(a, 3, [label('a', 2)])
  await store.append(b, 3, [label('b', 2)])
  return { ...home, a, b, checkpoints: [first, second] }
}

/** The same log again, to be spoilt. */
export function copyOf(log: StoredLog): StoredLog {
  const home = makeLogHome()
  cpSync(log.folder, home.folder, { recursive: true })
  return { ...log, ...home }
}

const outsider = fileURLToPath(new URL('independent-verifier.py', import.meta.url))

export function tamper(log: StoredLog, sql: string): void {
  execFileSync('python3', [outsider, 'sql', log.file], { input: sql })
}

/** Makes the chain fit what the records say now: what somebody does who knows the format. */
export function forge(log: StoredLog, what: 'forge' | 'forge-all' = 'forge'): void {
  execFileSync('python3', [outsider, what, log.file, ...(what === 'forge-all' ? [log.anchor] : [])])
}

export async function verify(log: LogHome): Promise<Verification> {
  await using store = await sqliteEvents(log)
  return await store.verify()
}

export const kinds = ({ problems }: Verification): string[] => [...new Set(problems.map(({ kind }) => kind))].toSorted()
