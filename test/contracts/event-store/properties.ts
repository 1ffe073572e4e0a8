import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AnyEvent, NewEvent } from '../../../src/domain/log/event.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import { evolve } from '../../../src/domain/workspace/evolve.ts'
import type { WorkspaceId } from '../../../src/domain/ids.ts'
import { isLive, nameOf, type Workspace } from '../../../src/domain/workspace/state.ts'
import type { EventStore } from '../../../src/ports/event-store.ts'
import { newId, sampleEvent } from '../../support/sample-events.ts'
import type { OpenStore } from '../event-store.ts'
import { all } from './follow.ts'

/** One thing to try; whether it is accepted depends on what came before. */
export interface Step {
  readonly workspace: number
  readonly type: (typeof types)[number]
  readonly task: number
  /** Belongs to the operation in progress, if there is one. */
  readonly inOperation: boolean
  readonly twice: boolean
  readonly seal: boolean
}

const types = [
  'workspace_create_started',
  'workspace_created',
  'workspace_destroy_started',
  'workspace_cleanup',
  'workspace_undelete_started',
  'workspace_undeleted',
  'workspace_purged',
  'workspace_reset',
  'workspace_rename_started',
  'workspace_renamed',
  'workspace_labelled',
  'operation_taken',
  'operation_abandoned',
  'workspace_lost',
] as const

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    workspace: fc.nat(3),
    type: fc.constantFrom(...types),
    task: fc.nat(2),
    inOperation: fc.boolean(),
    twice: fc.boolean(),
    seal: fc.boolean(),
  }),
  { minLength: 1, maxLength: 40 },
)

const limits = { maxWorkspaces: 3 }

/** Tries the steps and tells how each ended. Ids and times are the caller's, so that two stores can be compared. */
export async function perform(
  store: EventStore,
  todo: readonly Step[],
  ids: readonly WorkspaceId[],
  remember: Map<number, NewEvent>,
): Promise<string[]> {
  const outcomes: string[] = []
  for (const [i, step] of todo.entries()) {
    const stream = ids[step.workspace] ?? newId('ws')
    const before = await store.get(stream)
    const event = remember.get(i) ?? makeEvent(step, before)
    remember.set(i, event)
    const once = () => store.append(stream, before?.version ?? 0, [event], { limits }).then(() => 'stored', codeOf)
    outcomes.push(await once())
    if (step.twice) outcomes.push(await once())
    if (step.seal) await store.seal(event.at)
  }
  return outcomes
}

const codeOf = (error: unknown): string => toAwError(error).code

function makeEvent(step: Step, before: Workspace | undefined): NewEvent {
  const current = before?.operation
  const raise = step.type === 'operation_taken' ? 1 : 0
  const mine = current && { id: current.id, epoch: current.epoch + raise }
  const operation = step.type.endsWith('_started')
    ? { id: newId('op'), epoch: 1 }
    : step.inOperation
      ? (mine ?? null)
      : null
  const whose = { task_id: `t${step.task}`, agent_id: 'main', to_task_id: `t${step.task}`, epoch: mine?.epoch ?? 1 }
  return sampleEvent(step.type, { data: whose, operation })
}

export const makeIds = (): WorkspaceId[] => [newId('ws'), newId('ws'), newId('ws'), newId('ws')]

export function propertyContract(open: OpenStore): void {
  it('keeps every promise whatever is tried', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (todo) => {
        const store = await open()
        const outcomes = await perform(store, todo, makeIds(), new Map())
        expect(outcomes).not.toContain('internal')
        const log = await all(store)
        expectOrdered(log)
        await expectFolded(store, log)
        expect(await store.rebuild()).toMatchObject({ changed: [] })
        expect(await store.verify()).toMatchObject({ intact: true, events: log.length })
        await store[Symbol.asyncDispose]()
      }),
      { numRuns: 50 },
    )
  })

  it('shows a follower exactly the log, in order', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (todo) => {
        const store = await open()
        const stop = new AbortController()
        const following = all(store, { live: stop.signal })
        await perform(store, todo, makeIds(), new Map())
        const last = await store.append(newId('ws'), 0, [sampleEvent('workspace_labelled')])
        const end = last.events[0]?.position ?? 0
        for await (const event of store.follow({ live: stop.signal })) if (event.position === end) break
        const log = await all(store)
        stop.abort()
        const seen = await following
        expect(seen).toEqual(log.slice(0, seen.length))
        await store[Symbol.asyncDispose]()
      }),
      { numRuns: 20 },
    )
  })
}

function expectOrdered(log: readonly AnyEvent[]): void {
  const versions = new Map<string, number>()
  for (const [i, { stream, version, position }] of log.entries()) {
    expect(version).toBe((versions.get(stream) ?? 0) + 1)
    expect(position).toBeGreaterThan(log[i - 1]?.position ?? 0)
    versions.set(stream, version)
  }
}

async function expectFolded(store: EventStore, log: readonly AnyEvent[]): Promise<void> {
  const folds = new Map<string, Workspace | undefined>()
  for (const event of log) if (event.stream !== 'home') folds.set(event.stream, evolve(folds.get(event.stream), event))
  const expected = [...folds.values()].filter((workspace) => workspace !== undefined)
  const listed = await store.list()
  expect(listed).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)))
  const live = listed.filter(({ state }) => isLive(state))
  expect(new Set(live.map(nameOf)).size).toBe(live.length)
  expect(live.length).toBeLessThanOrEqual(limits.maxWorkspaces)
  for (const workspace of live) expect(await store.find(workspace.task, workspace.agent)).toEqual(workspace)
}
