import { expect, it } from 'vitest'
import type { Aw } from '../../../src/client/facade.ts'
import { collect } from '../../support/collect.ts'
import { code, forkOf, type OpenManager } from '../manager.ts'
import { workOf } from './restore.ts'

/** Snapshots through the life of their workspace, and what the log says about them. */
export function historyContract(open: OpenManager): void {
  it('snapshots outlive the trash and still work', async () => {
    const { aw, manager } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'first')
    const first = await aw.snapshot('a', { label: 'first' })
    await made.files.write('work/f', 'second')
    await aw.destroy('a')
    expect(await aw.snapshots(made.id)).toMatchObject([{ id: first.id, label: 'first' }])
    const refused = code('invalid_state', { state: 'trashed' })
    await expect(aw.snapshot(made.id)).rejects.toEqual(refused)
    await expect(aw.restore(made.id, { snapshot: 'first' })).rejects.toEqual(refused)
    await expect(aw.undo(made.id)).rejects.toEqual(refused)
    await expect(aw.redo(made.id)).rejects.toEqual(refused)
    await expect(aw.describe(made.id)).rejects.toEqual(refused)
    await expect(aw.branch(made.id, { name: 'x' })).rejects.toEqual(refused)
    await aw.gc({})
    await aw.undelete('a', { as: 'b' })
    expect(await aw.describe('b')).toMatchObject({ head: { id: first.id }, dirty: true })
    await aw.restore('b', { snapshot: 'first' })
    expect(await workOf(await aw.get('b'))).toEqual({ f: 'first' })
    expect(await manager.call('recover', {})).toMatchObject({ lost: [], orphans: [], recovered: [] })
  })

  it('a purge erases the snapshots too', async () => {
    const { aw, manager } = await open()
    const { id } = await aw.create({ id: 'a' })
    const first = await aw.snapshot('a')
    await aw.snapshot('a', { label: 'second' })
    await aw.destroy('a')
    await aw.purge('a')
    expect(await aw.snapshots(id)).toEqual([])
    await expect(collect(manager.stream('diff', { from: first.id }))).rejects.toEqual(code('snapshot_not_found'))
    expect(await manager.call('recover', {})).toMatchObject({ lost: [], orphans: [], leftovers: [] })
    expect(await aw.verify()).toEqual({ intact: true, snapshots: [] })
  })

  it('a reset of what is no fork has no head, and its snapshots stay', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'first')
    const first = await aw.snapshot('a')
    await aw.reset('a')
    expect(await aw.describe('a')).toMatchObject({ head: null, dirty: true })
    await aw.restore('a', { snapshot: first.id })
    expect(await workOf(made)).toEqual({ f: 'first' })
    await aw.gc({ older_than: '0s' })
    expect(await aw.snapshots('a')).toHaveLength(2)
  })

  it('every intent in the log has its outcome, which tells how and how well', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', '1')
    await aw.snapshot('a', { label: 'one', key: 'k' })
    await made.files.write('work/f', '2')
    await aw.restore('a', { paths: ['work/f'] })
    await made.files.write('work/f', '3')
    await aw.undo('a')
    await aw.redo('a')
    await aw.snapshot('a')
    await aw.undo('a')
    await aw.snapshot.label('a', { snapshot: 'one', label: 'uno' })
    await aw.branch('a', { name: 'side' })
    await aw.branch('a', { name: 'side', remove: true })
    await aw.snapshot('a', { label: 'two' })
    await aw.snapshot.remove('a', { snapshots: ['two'] })
    await forkOf(aw, 'a', { to: ['b'], at: 'uno' })
    const events = await collect(aw.events({ workspace: made.id }))
    const begun = new Map<string, string>()
    for (const { type, meta } of events) {
      const id = String((meta['operation'] as { id: string } | null)?.id)
      if (type.endsWith('_started')) begun.set(id, type)
      else if (id !== 'undefined') expect(begun.delete(id), `${type} ends what was begun`).toBe(true)
    }
    expect([...begun.values()]).toEqual([])
    const facts = events.flatMap(({ type, data }) =>
      type === 'snapshot_created' ? [data] : type === 'workspace_restored' ? (data['kept'] as (typeof data)[]) : [],
    )
    expect(facts.length).toBeGreaterThanOrEqual(6)
    for (const one of facts) {
      expect(one['mechanism']).toMatch(/./)
      expect(['atomic', 'frozen', 'fuzzy']).toContain(one['consistency'])
    }
    const kinds = events.filter(({ type }) => type === 'workspace_restored').map(({ data }) => data['how'])
    expect(kinds).toEqual(['restore', 'undo', 'redo', 'undo'])
    const [labelled] = events.filter(({ type }) => type === 'snapshot_labelled')
    expect(labelled?.data).toMatchObject({ label: 'uno' })
    expect(events.filter(({ type }) => type === 'workspace_branched').map(({ data }) => data['removed'])).toEqual([
      false,
      true,
    ])
  })

  it.each(['snapshot', 'restore', 'undo'] as const)('a cancelled %s leaves all of it or nothing', async (operation) => {
    const { aw, manager } = await open()
    const made = await aw.create({ id: 'a' })
    for (let i = 0; i < 30; i++) await made.files.write(`work/${i}`, 'old')
    await aw.snapshot('a', { label: 'old' })
    const call = {
      snapshot: (signal: AbortSignal) => aw.snapshot('a', {}, { signal }),
      restore: (signal: AbortSignal) => aw.restore('a', { snapshot: 'old' }, { signal }),
      undo: (signal: AbortSignal) => aw.undo('a', {}, { signal }),
    }[operation]
    await expect(call(AbortSignal.abort())).rejects.toEqual(code('aborted'))
    for (let delay = 0; delay < 8; delay++) {
      for (let i = 0; i < 30; i++) await made.files.write(`work/${i}`, `new ${delay}`)
      const before = await aw.snapshots('a')
      const stop = new AbortController()
      const done = call(stop.signal).then(
        () => true,
        (error: unknown) => {
          expect(error).toEqual(code('aborted'))
          return false
        },
      )
      setTimeout(() => stop.abort(), delay)
      const content = (await done) && operation !== 'snapshot' ? 'old' : `new ${delay}`
      expect(new Set(Object.values(await workOf(made)))).toEqual(new Set([content]))
      expect(await aw.snapshots('a')).toHaveLength(before.length + ((await done) ? 1 : 0))
      if (operation === 'snapshot') await removeAll(aw)
    }
    expect(await manager.call('recover', {})).toMatchObject({ recovered: [], orphans: [], leftovers: [], lost: [] })
  })
}

async function removeAll(aw: Aw): Promise<void> {
  const ids = (await aw.snapshots('a')).filter(({ label }) => label === null).map(({ id }) => id)
  if (ids.length > 0) await aw.snapshot.remove('a', { snapshots: ids })
}
