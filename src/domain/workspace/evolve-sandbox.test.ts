import { describe, expect, it } from 'vitest'
import { sampleData } from '../../../test/support/sample-events.ts'
import type { AnyEvent, EventType } from '../log/event.ts'
import { evolve } from './evolve.ts'
import type { Workspace } from './state.ts'

const at = '2026-11-15T09:00:00.000Z'

function folded(...types: (EventType | [EventType, object])[]): Workspace | undefined {
  let workspace: Workspace | undefined
  for (const [i, entry] of types.entries()) {
    const [type, data] = Array.isArray(entry) ? entry : [entry, {}]
    const meta = { actor: 'user:1', correlation_id: 'cor_1', causation_id: null, operation: { id: 'op_1', epoch: 1 } }
    const event = { id: 'ev_1', stream: 'ws_1', version: i + 1, position: i, at, schema: 1, hash: '', type, meta }
    workspace = evolve(workspace, { ...event, data: { ...sampleData[type], ...data } } as unknown as AnyEvent)
  }
  return workspace
}

const made = ['workspace_create_started', 'workspace_created'] as const
const launched = [...made, 'sandbox_launch_started', 'sandbox_launched'] as const

describe('a sandbox in the fold', () => {
  it('runs from its launch to its stop, with all that is needed to start it again', () => {
    const { sandbox, isolation, network, limits, mount, shared } = sampleData.sandbox_launch_started
    const running = folded(...launched)
    expect(running).toMatchObject({ state: 'running', operation: null })
    expect(running?.sandbox).toEqual({
      sandbox,
      isolation,
      network,
      limits,
      mount,
      shared,
      started_at: at,
      supervisor: sampleData.sandbox_launched.supervisor,
      walls: { grades: sampleData.sandbox_launched.grades, notes: sampleData.sandbox_launched.notes },
    })
    const stopped = folded(...launched, 'sandbox_stop_started', 'sandbox_stopped')
    expect(stopped).toMatchObject({ state: 'stopped', operation: null })
    expect(stopped).not.toHaveProperty('sandbox')
  })

  it('the end of another one changes nothing', () => {
    const running = folded(...launched, ['sandbox_stopped', { sandbox: 'box_other', why: 'lost' }])
    expect(running).toMatchObject({ state: 'running', sandbox: { mount: '/workspace' } })
  })

  it('commands are there as long as they run', () => {
    const second = { command: 'cmd_2' }
    const two = folded(...made, 'command_started', ['command_started', second])
    expect(two?.commands?.map(({ command }) => command)).toEqual([sampleData.command_started.command, 'cmd_2'])
    expect(two).toMatchObject({ state: 'ready' })
    const none = folded(...made, 'command_started', ['command_started', second], 'command_ended', [
      'command_ended',
      second,
    ])
    expect(none).not.toHaveProperty('commands')
  })

  it('what goes to the trash takes neither its sandbox nor its number along', () => {
    expect(folded(...made, 'workspace_slot_taken')).toMatchObject({ state: 'ready', slot: 3 })
    const gone = folded(...launched, 'workspace_slot_taken', 'workspace_destroy_started', 'workspace_cleanup')
    expect(gone).toMatchObject({ state: 'trashed' })
    for (const field of ['sandbox', 'commands', 'slot']) expect(gone).not.toHaveProperty(field)
  })

  it('a run knows whether its own sandbox has been up', () => {
    const { sandbox } = sampleData.run_started
    const begun = folded(...made, 'run_requested', 'run_started')
    expect(begun?.run).toMatchObject({ state: 'running', started: { sandbox, launched: false } })
    const up = folded(...made, 'run_requested', 'run_started', 'sandbox_launch_started', 'sandbox_launched')
    expect(up).toMatchObject({ state: 'running', run: { started: { launched: true } } })
    const shared = folded(...launched, 'run_requested', ['run_started', { own_sandbox: false }])
    expect(shared?.run).toMatchObject({ started: { launched: true } })
    const over = folded(...launched, 'run_requested', 'run_started', 'run_completed')
    expect(over).not.toHaveProperty('run')
    expect(over?.last_run).toMatchObject({ state: 'completed', number: 2, code: 0 })
  })
})
