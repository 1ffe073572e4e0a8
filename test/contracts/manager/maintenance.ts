import { expect, it } from 'vitest'
import { toAwError, type AwError } from '../../../src/domain/errors.ts'
import type { OpenManager } from '../manager.ts'

export function careContract(open: OpenManager): void {
  it('there is nothing to recover when nothing has gone wrong', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'a' })
    const empty = { relinked: [], lost: [], orphans: [], leftovers: [] }
    const nothing = { recovered: [], busy: [], failed: [], found: [], ...empty }
    expect(await manager.call('recover', {})).toEqual(nothing)
    expect(await manager.call('recover', { id: 'a', steal: true })).toEqual(nothing)
    const { message } = (await manager.call('recover', { id: 'nope' }).catch(toAwError)) as AwError
    expect(message).toBe('There is no workspace nope/main')
    await aw.destroy('a')
    expect(await manager.call('recover', { id: 'a' })).toEqual(nothing)
  })

  it.each(['keep', 'stop'] as const)('shutdown with policy %s leaves workspaces as they are', async (policy) => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    expect(await aw.shutdown({ policy })).toMatchObject({ policy, results: [{ ok: true }], timed_out: false })
    expect(await aw.exists('a')).toEqual({ exists: true })
  })

  it('shutdown with policy trash trashes the workspaces of a task, leased ones too', async () => {
    const { aw } = await open()
    await aw.create({ id: 't1/a' })
    const { id } = await aw.create({ id: 't1/b' })
    await aw.create({ id: 't2/a' })
    await aw.lease.acquire('t1/b', { holder: 'x' })
    const { results } = await aw.shutdown({ task: 't1', policy: 'trash' })
    expect(results.map(({ name, ok }) => `${name} ${ok}`).toSorted()).toEqual(['t1/a true', 't1/b true'])
    expect(await aw.show(id)).toMatchObject({ state: 'trashed', trash: [{ reason: 'pod_shutdown' }] })
    expect((await aw.list({})).map(({ name }) => name)).toEqual(['t2/a'])
    await aw.undelete('t1/b')
  })

  it('shutdown keeps what its time does not allow, and says so', async () => {
    const { aw } = await open()
    for (let i = 0; i < 60; i++) await aw.create({ id: `task-${i}` })
    const { results, timed_out } = await aw.shutdown({ policy: 'trash', timeout_ms: 1 })
    expect(results).toHaveLength(60)
    const kept = results.filter(({ ok }) => !ok)
    expect(await aw.list({})).toHaveLength(kept.length)
    expect(timed_out || kept.length === 0).toBe(true)
    for (const { error } of kept) expect(['timeout', 'aborted']).toContain(error?.code)
    expect((await aw.list({ all: true })).filter(({ operation }) => operation !== null)).toEqual([])
  })

  it('doctor looks at everything and makes the read model anew', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    const { ok, findings } = await aw.doctor({ rebuild: true })
    expect(ok).toBe(true)
    const model = findings.find(({ name }) => name === 'read model')
    expect(model).toMatchObject({ status: 'ok', message: expect.stringMatching(/; 0 differed$/) as unknown })
    expect(findings.find(({ name }) => name === 'log')).toMatchObject({ status: 'ok' })
    const abilities = findings.find(({ name }) => name === 'storage abilities')
    for (const what of ['hard links', 'directories are renamed', 'user'])
      expect(abilities).toMatchObject({ status: 'info', message: expect.stringContaining(what) as string })
  })

  it('the configuration tells each setting and where it came from', async () => {
    const { aw } = await open()
    const { settings } = await aw.config.show({})
    expect(settings).toContainEqual(expect.objectContaining({ key: 'trash.retention_days', value: 7, from: 'default' }))
  })
}
