import { expect, it } from 'vitest'
import { noHash, recordHash } from '../../../src/domain/log/chain.ts'
import { sampleEvent } from '../../support/sample-events.ts'
import { collect } from '../../support/collect.ts'
import type { OpenStore } from '../event-store.ts'
import { make } from './read-model.ts'

const at = '2026-01-01T00:00:00.000Z'

export function chainContract(open: OpenStore): void {
  it('chains each record to the one before it in its stream', async () => {
    const store = await open()
    const id = await make(store, 'a')
    await make(store, 'b')
    await store.append(id, 2, [sampleEvent('workspace_labelled')])
    let previous = noHash
    for await (const event of store.read(id)) {
      const texts = { data: JSON.stringify(event.data), meta: JSON.stringify(event.meta) }
      expect(event.hash).toBe(recordHash(previous, { ...event, ...texts }))
      previous = event.hash
    }
  })

  it('seals what came since the last checkpoint, and nothing twice', async () => {
    const store = await open()
    await make(store, 'a')
    const first = await store.seal(at)
    const events = (await collect(store.follow())).length
    expect(first).toMatchObject({ number: 1, at, events })
    expect(await store.seal(at)).toBeUndefined()
    const id = await make(store, 'b')
    const { unsealed } = await store.append(id, 2, [sampleEvent('workspace_labelled')])
    expect(unsealed).toBe(3)
    const second = await store.seal(at)
    expect(second).toMatchObject({ number: 2, events: events + 3 })
    expect(second?.hash).not.toBe(first?.hash)
  })

  it('verifies, and tells what is sealed from what is not', async () => {
    const store = await open()
    expect(await store.verify()).toMatchObject({ intact: true, checkpoint: null, problems: [] })
    await make(store, 'a')
    const checkpoint = await store.seal(at)
    await make(store, 'b')
    const found = await store.verify()
    const events = (checkpoint?.events ?? 0) + 2
    expect(found).toMatchObject({ intact: true, checkpoint, unsealed: 2, events, problems: [] })
  })

  it('stops verifying for a caller that has gone', async () => {
    const store = await open()
    await expect(store.verify({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
  })

  it('has nothing to rebuild', async () => {
    const store = await open()
    await make(store, 'a')
    expect(await store.rebuild()).toEqual({ workspaces: 1, changed: [] })
  })
}
