import { expect, it } from 'vitest'
import type { Inputs } from '../../../src/api/table.ts'
import { collect } from '../../support/collect.ts'
import { code, text, type OpenManager } from '../manager.ts'

const holding = (holder: string, more: Partial<Inputs['adopt']> = {}) => ({ holder, ttl_ms: 600_000, ...more })

export function leaseContract(open: OpenManager): void {
  it('what nobody holds is adopted as it is acquired', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    const lease = await aw.adopt('a', holding('ann'))
    expect(lease).toMatchObject({ workspace: 'a/main', holder: 'ann', adopted_from: null })
    expect((await aw.adopt('a', holding('ann'))).id).toBe(lease.id)
    const told = (await collect(aw.events({ task: 'a' }))).map(({ type }) => type)
    expect(told.filter((type) => type.startsWith('lease_'))).toEqual(['lease_acquired', 'lease_acquired'])
    await expect(aw.adopt('b', holding('ann'))).rejects.toEqual(code('workspace_not_found'))
  })

  it('what another holds is not adopted, nor by force while that one is active', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    const { acquired_at, expires_at, id } = await aw.lease.acquire('a', holding('ci'))
    const who = { lease: { holder: 'ci', acquired_at, expires_at, active_at: acquired_at } }
    await expect(aw.adopt('a', holding('ann'))).rejects.toEqual(code('workspace_active', who))
    await expect(aw.adopt('a', holding('ann', { force: true }))).rejects.toEqual(code('workspace_active', who))
    expect(await aw.lease.renew('a', { lease: id })).toMatchObject({ id })
  })

  it('by force it is taken from a holder who is idle; both are in the log, and the old lease is void', async () => {
    const { aw } = await open({ 'leases.force_after_seconds': '0' })
    await aw.create({ id: 'a' })
    const old = await aw.lease.acquire('a', holding('ci'))
    await expect(aw.adopt('a', holding('ann'))).rejects.toEqual(code('workspace_active'))
    const mine = await aw.adopt('a', holding('ann', { force: true }))
    expect(mine).toMatchObject({ holder: 'ann', adopted_from: 'ci' })
    expect(mine.id).not.toBe(old.id)
    const last = (await collect(aw.events({ task: 'a', type: ['lease_adopted'] }))).at(-1)
    expect(last?.data).toMatchObject({ holder: 'ann', lease_id: mine.id, from: { holder: 'ci', lease_id: old.id } })
    await expect(aw.lease.renew('a', { lease: old.id })).rejects.toEqual(code('lease_not_found'))
    expect(await aw.lease.release('a', { lease: old.id })).toEqual({ released: false })
    expect(await aw.lease.renew('a', { lease: mine.id })).toMatchObject({ holder: 'ann' })
  })

  it('whoever writes under a lease must hold it; without one nothing is asked', async () => {
    const { aw } = await open({ 'leases.force_after_seconds': '0' })
    await aw.create({ id: 'a' })
    const { id: stale } = await aw.lease.acquire('a', holding('ci'))
    const note = { path: 'note', content: Buffer.from('ci') }
    await aw.fs.write('a', note, { lease: stale })
    const { id: lease } = await aw.adopt('a', holding('ann', { force: true }))
    const lost = code('lease_lost', { lease: { holder: 'ann', acquired_at: expect.any(String) as unknown } })
    const before = await collect(aw.events({ task: 'a' }))
    const context = { lease: stale }
    await expect(aw.fs.write('a', note, context)).rejects.toEqual(lost)
    await expect(aw.fs.remove('a', { path: 'note' }, context)).rejects.toEqual(lost)
    await expect(aw.label('a', { labels: { by: 'ci' } }, context)).rejects.toEqual(lost)
    await expect(aw.manager.call('snapshot', { id: 'a' }, context)).rejects.toEqual(lost)
    await expect(aw.manager.call('env set', { id: 'a', env: { X: 'y' } }, context)).rejects.toEqual(lost)
    await expect(aw.destroy('a', { force: true }, context)).rejects.toEqual(lost)
    await expect(collect(aw.manager.stream('exec', { id: 'a', argv: ['true'] }, context))).rejects.toEqual(lost)
    expect(await collect(aw.events({ task: 'a' }))).toEqual(before)
    // Whoever only looks disturbs nobody.
    expect(text(await aw.fs.read('a', { path: 'note' }, context))).toBe('ci')
    await aw.fs.write('a', { ...note, content: Buffer.from('ann') }, { lease })
    await aw.label('a', { labels: { by: 'ann' } }, { lease })
    await aw.label('a', { labels: { by: 'nobody' } })
    await expect(aw.label('a', { labels: {} }, { lease: 'ls_unknown' })).rejects.toEqual(code('lease_lost'))
  })

  it('a lease that was given back, or that is of another workspace, is none to write under', async () => {
    const { aw } = await open()
    for (const id of ['a', 'b']) await aw.create({ id })
    const { id: lease } = await aw.lease.acquire('a', holding('ci'))
    await expect(aw.label('b', { labels: { by: 'ci' } }, { lease })).rejects.toEqual(
      code('lease_lost', { lease: null }),
    )
    await aw.lease.release('a', { lease })
    await expect(aw.label('a', { labels: { by: 'ci' } }, { lease })).rejects.toEqual(
      code('lease_lost', { lease: null }),
    )
    // It does not stand in the way of the next one.
    await aw.lease.acquire('a', holding('ci'), { lease })
  })

  it('a holder does not stand in its own way', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    const { id: lease } = await aw.lease.acquire('a', holding('ci'))
    await expect(aw.reset('a')).rejects.toEqual(code('workspace_active'))
    await aw.reset('a', {}, { lease })
    await aw.rename('a', { to: 'b' }, { lease })
    expect(await aw.destroy('b', {}, { lease })).toMatchObject({ removed: true })
  })

  it('a run under a lease is asked for it once, when it begins', async () => {
    const { aw } = await open({ 'leases.force_after_seconds': '0' })
    await aw.create({ id: 'a' })
    const { id: stale } = await aw.lease.acquire('a', holding('ci'))
    const { id: lease } = await aw.adopt('a', holding('ann', { force: true }))
    const run = { id: 'a', argv: ['true'] }
    await expect(collect(aw.manager.stream('run', run, { lease: stale }))).rejects.toEqual(code('lease_lost'))
    expect(await aw.runs('a')).toEqual([])
    const told = await collect(aw.manager.stream('run', run, { lease }))
    expect(told.at(-1)).toMatchObject({ type: 'ended' })
  })

  it('show tells who holds it, and not with which lease', async () => {
    const { aw } = await open()
    const { id } = await aw.create({ id: 'a' })
    expect((await aw.show('a')).lease).toBeNull()
    const { acquired_at, expires_at, id: lease } = await aw.lease.acquire('a', holding('ci'))
    expect((await aw.show('a')).lease).toEqual({ holder: 'ci', acquired_at, expires_at, active_at: acquired_at })
    expect(JSON.stringify(await aw.show('a'))).not.toContain(lease)
    await aw.destroy('a', { force: true })
    expect(Object.keys(await aw.show(id))).not.toContain('lease')
  })
}
