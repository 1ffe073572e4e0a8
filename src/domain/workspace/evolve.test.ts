import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sampleData } from '../../../test/support/sample-events.ts'
import type { AnyEvent, EventData } from '../log/event.ts'
import { allowedStates, type UseCase } from './allow.ts'
import type { WorkspaceEventType } from './events.ts'
import { evolve } from './evolve.ts'
import { isLive, transitions, type OperationKind, type Workspace, type WorkspaceStateName } from './state.ts'

/** The state after these events, each with its sample payload unless one is given. */
function given(...facts: (WorkspaceEventType | Fact)[]): Workspace {
  const state = fold(facts)
  if (state === undefined) throw new Error('these events make no workspace')
  return state
}

type Fact = { [T in WorkspaceEventType]: [T, Partial<EventData[T]>] }[WorkspaceEventType]

const fold = (facts: readonly (WorkspaceEventType | Fact)[]): Workspace | undefined =>
  facts.map(toEvent).reduce(evolve, undefined as Workspace | undefined)

function toEvent(fact: WorkspaceEventType | Fact, index: number): AnyEvent {
  const [type, data] = typeof fact === 'string' ? [fact, {}] : fact
  return {
    id: `ev_${index}`,
    stream: 'ws_01hzx5k8w40000000000000001',
    version: index + 1,
    position: index + 1,
    at: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
    type,
    schema: 1,
    data: { ...sampleData[type], ...data },
    meta: { actor: 'user:0', correlation_id: 'cor_1', causation_id: null, operation: { id: 'op_1', epoch: 1 } },
    hash: '',
  } as AnyEvent
}

const ready = ['workspace_create_started', 'workspace_created'] as const
const trashed = [...ready, 'workspace_destroy_started', 'workspace_cleanup'] as const

describe('a workspace is the fold of its stream', () => {
  it('has another size limit when it is given one, and the rest of its configuration as before', () => {
    const { config } = given(...ready)
    expect(given(...ready, ['workspace_limit_set', { max_size_mb: 7 }]).config).toEqual({ ...config, max_size_mb: 7 })
  })

  it('has an end only if it was given one, and none any more when it comes back from it', () => {
    expect(Object.keys(given(...ready))).not.toEqual(expect.arrayContaining(['expires_at', 'archives']))
    const [past, future] = ['2026-01-01T00:00:00.000Z', '2036-01-01T00:00:00.000Z']
    expect(given(['workspace_create_started', { expires_at: past }]).expires_at).toBe(past)
    expect(given(...ready, ['workspace_ttl_set', { expires_at: past }]).expires_at).toBe(past)
    const none = given(...ready, 'workspace_ttl_set', ['workspace_ttl_set', { expires_at: null }])
    expect(Object.keys(none)).toEqual(Object.keys(given(...ready)))
    const back = (at: string): Workspace =>
      given(['workspace_create_started', { expires_at: at }], ...trashed.slice(1), 'workspace_undeleted')
    expect(back(future).expires_at).toBe(future)
    expect(Object.keys(back(past))).not.toContain('expires_at')
  })

  it('knows the archives that were made of it, until they are removed', () => {
    const made = given(...trashed, 'workspace_archive_started', 'workspace_archived')
    expect(made).toMatchObject({ state: 'trashed', operation: null, archives: [{ bytes: 12345 }] })
    expect(given(...trashed, 'workspace_archive_started').operation).toMatchObject({ kind: 'archive', from: 'trashed' })
    const gone = given(...trashed, 'workspace_archived', 'workspace_archive_removed')
    expect(gone.archives).toEqual([])
  })

  it('is in creation from the intent, and ready with the outcome', () => {
    const begun = given('workspace_create_started')
    expect(begun).toMatchObject({ state: 'creating', task: 'fix-login', agent: 'main', version: 1 })
    expect(begun.operation).toMatchObject({ kind: 'create', epoch: 1, id: 'op_1' })
    expect(given(...ready)).toMatchObject({ state: 'ready', operation: null, generation: 1, version: 2 })
  })

  it('has the time of its creation, which the seed forgot to write down', () => {
    expect(given(...ready).created_at).toBe(sampleData.workspace_created.created_at)
  })

  it('is gone without a trace in the trash when its creation failed', () => {
    const failed = given('workspace_create_started', [
      'workspace_cleanup',
      { cleanup_reason: 'failed_create', tree: null },
    ])
    expect(failed).toMatchObject({ state: 'purged', trash: [], operation: null })
  })

  it('waits for a source that could not be had, and is ready when a reset has it', () => {
    const waiting = given('workspace_create_started', 'workspace_source_failed')
    expect(waiting).toMatchObject({ state: 'failed', operation: null, problem: { code: 'source_failed' } })
    const source = { kind: 'git' as const, url: 'https://example.com/a.git', ref: null, shallow: true, base: 'git-1' }
    const filled = given('workspace_create_started', 'workspace_source_failed', 'workspace_reset_started', [
      'workspace_reset',
      { source },
    ])
    expect(filled).toMatchObject({ state: 'ready', problem: null, source })
  })

  it('goes to the trash and comes back', () => {
    const gone = given(...trashed)
    expect(gone.state).toBe('trashed')
    expect(gone.trash).toMatchObject([{ tree: sampleData.workspace_cleanup.tree, reason: 'user', generation: 1 }])
    expect(given(...trashed, 'workspace_undelete_started', 'workspace_undeleted')).toMatchObject({
      state: 'ready',
      trash: [],
    })
  })

  it('has its old name and path again when an undelete under another name was abandoned', () => {
    const back = given(
      ...trashed,
      ['workspace_undelete_started', { task_id: 'other', agent_id: 'name', workspace_path: '/w/other/name' }],
      ['operation_abandoned', { operation: 'undelete' }],
    )
    expect(back).toMatchObject({ state: 'trashed', task: 'fix-login', agent: 'main', operation: null })
    expect(back.path).toBe(sampleData.workspace_created.workspace_path)
    expect(back.trash).toHaveLength(1)
  })

  it('keeps the tree that a reset replaced', () => {
    const fresh = given(...ready, 'workspace_reset_started', ['workspace_reset', { generation: 2, tree: 'old.1' }])
    expect(fresh).toMatchObject({ state: 'ready', generation: 2 })
    expect(fresh.trash).toMatchObject([{ tree: 'old.1', generation: 1, reason: 'reset' }])
  })

  it('is purged with its last tree, and only then', () => {
    const reset: Fact[] = [
      ['workspace_reset_started', {}],
      ['workspace_reset', { generation: 2, tree: 'one.1' }],
    ]
    const destroyed: Fact[] = [
      ['workspace_destroy_started', { tree: 'one.2' }],
      ['workspace_cleanup', { tree: 'one.2' }],
    ]
    const both = [...ready, ...reset, ...destroyed]
    const half = given(...both, 'workspace_purge_started', ['workspace_purged', { trees: ['one.1'] }])
    expect(half).toMatchObject({ state: 'trashed', trash: [{ tree: 'one.2' }] })
    const rest = given(...both, 'workspace_purge_started', ['workspace_purged', { trees: ['one.1', 'one.2'] }])
    expect(rest).toMatchObject({ state: 'purged', trash: [] })
  })

  it('stays destroying, with the reason, when a destroy could not finish', () => {
    const stuck = given(...ready, 'workspace_destroy_started', [
      'operation_abandoned',
      { operation: 'destroy', code: 'permission_denied', message: 'not yours' },
    ])
    expect(stuck).toMatchObject({ state: 'destroying', operation: null, problem: { code: 'permission_denied' } })
  })

  it('knows who goes on with an operation', () => {
    const taken = given('workspace_create_started', ['operation_taken', { epoch: 2 }])
    expect(taken.operation).toMatchObject({ epoch: 2, owner: sampleData.operation_taken.owner, kind: 'create' })
  })

  it('is nothing before its first event', () => {
    expect(fold(['workspace_created'])).toBeUndefined()
  })
})

describe('the transition table', () => {
  const types = (Object.keys(sampleData) as WorkspaceEventType[]).filter((type) => type !== 'workspace_create_started')

  it('holds for every sequence of events that a store would take', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...types), { maxLength: 30 }), (sequence) => {
        let state = given('workspace_create_started')
        for (const [index, type] of sequence.entries()) {
          if (!accepted(state, type)) continue
          const event = toEvent([type, payloadFor(state, type)] as Fact, index + 1)
          const next = evolve(state, event)
          if (next === undefined) throw new Error('a workspace does not vanish')
          if (next.state !== state.state) expect(transitions[state.state]).toContain(next.state)
          expect(next.state === 'purged' && next.trash.length > 0).toBe(false)
          state = next
        }
      }),
      { numRuns: 5_000 },
    )
  })

  it('lets nothing follow purged but a tree that was given up and turned up again', () => {
    expect(transitions.purged).toEqual(['trashed'])
    const lost = given(...ready, 'workspace_lost')
    expect(lost).toMatchObject({ state: 'purged', problem: { code: 'lost' } })
    expect(given(...ready, 'workspace_lost', 'workspace_found')).toMatchObject({
      state: 'trashed',
      problem: null,
      trash: [{ tree: sampleData.workspace_found.tree, reason: 'found' }],
    })
    expect(isLive('destroying')).toBe(true)
    expect(isLive('trashed')).toBe(false)
  })

  /** Which use case each intent begins, and which operation each outcome ends. */
  const intents: Partial<Record<WorkspaceEventType, UseCase>> = {
    snapshot_started: 'snapshot',
    snapshot_remove_started: 'snapshot',
    workspace_restore_started: 'restore',
    workspace_reset_started: 'reset',
    workspace_rename_started: 'rename',
    workspace_destroy_started: 'destroy',
    workspace_archive_started: 'purge',
    workspace_undelete_started: 'undelete',
    sandbox_launch_started: 'launch',
    sandbox_stop_started: 'stop',
    command_started: 'exec',
    run_requested: 'exec',
  }
  const outcomes: Partial<Record<WorkspaceEventType, readonly OperationKind[]>> = {
    workspace_created: ['create'],
    workspace_source_failed: ['create'],
    workspace_cleanup: ['create', 'destroy'],
    workspace_undeleted: ['undelete'],
    workspace_purged: ['purge'],
    workspace_reset: ['reset'],
    workspace_renamed: ['rename'],
    snapshot_created: ['snapshot'],
    workspace_restored: ['restore'],
    workspace_archived: ['archive'],
    sandbox_launched: ['launch'],
  }

  /** The rules by which a store and the use cases let an event through. */
  function accepted(state: Workspace, type: WorkspaceEventType): boolean {
    const kind = state.operation?.kind
    const isLost = !isLive(state.state) && state.problem?.code === 'lost'
    if (type === 'workspace_found') return kind === undefined && isLost
    if (state.state === 'purged') return false
    const useCase = intents[type]
    if (useCase !== undefined) {
      const allowed: readonly WorkspaceStateName[] = allowedStates[useCase]
      if (kind !== undefined || !allowed.includes(state.state)) return false
    }
    const kinds = outcomes[type]
    if (kinds !== undefined) return kind !== undefined && kinds.includes(kind)
    switch (type) {
      case 'workspace_undelete_started':
      case 'workspace_archive_started':
        return state.trash.length > 0
      case 'workspace_purge_started':
      case 'trash_lost':
        return kind === undefined && state.trash.length > 0
      case 'sandbox_launch_started':
        return state.sandbox === undefined
      case 'run_requested':
        return state.run === undefined
      case 'sandbox_stopped':
        return kind === 'stop' || (kind === undefined && state.sandbox !== undefined)
      case 'operation_abandoned':
        return kind !== undefined && kind !== 'create'
      case 'workspace_lost':
        return kind === undefined && isLive(state.state)
      default:
        return true
    }
  }

  function payloadFor(state: Workspace, type: WorkspaceEventType): Record<string, unknown> {
    const tree = `${state.id}.${state.generation}`
    const failedCreate = state.operation?.kind === 'create'
    if (type === 'operation_abandoned') return { operation: state.operation?.kind }
    if (type === 'workspace_reset') return { generation: state.generation + 1, tree }
    if (type === 'workspace_cleanup') return failedCreate ? { tree: null, cleanup_reason: 'failed_create' } : { tree }
    if (type === 'workspace_found') return { tree }
    if (type === 'workspace_purged' || type === 'trash_lost') return { trees: state.trash.map((entry) => entry.tree) }
    if (type === 'workspace_undelete_started' || type === 'workspace_undeleted')
      return { tree: state.trash.at(-1)?.tree }
    return {}
  }
})
