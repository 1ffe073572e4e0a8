import { expect, it } from 'vitest'
import type { NewEvent } from '../../../src/domain/log/event.ts'
import type { WorkspaceId } from '../../../src/domain/ids.ts'
import type { EventStore } from '../../../src/ports/event-store.ts'
import { creation, newId, sampleEvent } from '../../support/sample-events.ts'
import type { OpenStore } from '../event-store.ts'

export function fencingContract(open: OpenStore): void {
  const busy = async (store: EventStore, id: WorkspaceId, event: NewEvent, operation: unknown): Promise<void> => {
    const version = (await store.get(id))?.version ?? 0
    await expect(store.append(id, version, [event])).rejects.toMatchObject({
      code: 'workspace_busy',
      data: { workspace: id, operation },
    })
  }
  const begin = async () => {
    const store = await open()
    const id = newId('ws')
    const made = creation('a')
    await store.append(id, 0, [made.intent])
    return { store, id, ...made }
  }
  const taken = (id: string, epoch: number, inData = epoch): NewEvent =>
    sampleEvent('operation_taken', { operation: { id, epoch }, data: { epoch: inData } })

  it('takes events of the operation in progress, and events of none', async () => {
    const { store, id, outcome } = await begin()
    await store.append(id, 1, [sampleEvent('workspace_labelled')])
    expect((await store.append(id, 2, [outcome])).workspace?.operation).toBeNull()
  })

  it('refuses events of another operation, of another epoch and of one that is over', async () => {
    const { store, id, operation, outcome } = await begin()
    const current = { id: operation.id, epoch: 1 }
    for (const wrong of [
      { id: newId('op'), epoch: 1 },
      { id: operation.id, epoch: 2 },
      { id: operation.id, epoch: 0 },
    ]) {
      await busy(store, id, sampleEvent('workspace_created', { operation: wrong }), expect.objectContaining(current))
    }
    await store.append(id, 1, [outcome])
    await busy(store, id, sampleEvent('workspace_labelled', { operation }), null)
  })

  it('refuses a second intent while an operation is in progress', async () => {
    const { store, id, operation, outcome } = await begin()
    const destroy = () => sampleEvent('workspace_destroy_started', { operation: { id: newId('op'), epoch: 1 } })
    await busy(store, id, destroy(), expect.objectContaining({ id: operation.id }))
    await store.append(id, 1, [outcome])
    expect((await store.append(id, 2, [destroy()])).workspace?.state).toBe('destroying')
  })

  it('fences off the owner that an operation was taken from', async () => {
    const { store, id, operation, outcome } = await begin()
    const { workspace } = await store.append(id, 1, [taken(operation.id, 2)])
    expect(workspace?.operation).toMatchObject({ epoch: 2, owner: { pid: 4343 } })
    await busy(store, id, outcome, expect.objectContaining({ epoch: 2 }))
    const mine = { id: operation.id, epoch: 2 }
    const done = await store.append(id, 2, [sampleEvent('workspace_created', { operation: mine })])
    expect(done.workspace?.state).toBe('ready')
  })

  it('raises the epoch by one, in the event and around it, or not at all', async () => {
    const { store, id, operation, outcome } = await begin()
    for (const wrong of [
      taken(operation.id, 1),
      taken(operation.id, 3),
      taken(operation.id, 2, 3),
      taken(newId('op'), 2),
    ]) {
      await busy(store, id, wrong, expect.objectContaining({ id: operation.id, epoch: 1 }))
    }
    await busy(store, id, sampleEvent('operation_taken'), expect.objectContaining({ epoch: 1 }))
    await store.append(id, 1, [outcome])
    await busy(store, id, taken(operation.id, 2), null)
  })

  it('holds the events of one call to the state that those before it leave', async () => {
    const { store, id, operation, outcome } = await begin()
    const late = sampleEvent('workspace_labelled', { operation })
    await expect(store.append(id, 1, [outcome, late])).rejects.toMatchObject({ code: 'workspace_busy' })
    await store.append(id, 1, [late, outcome])
  })
}
