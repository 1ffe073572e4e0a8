import { expect, it } from 'vitest'
import { code, type OpenManager } from '../manager.ts'

/** Ends of workspaces, and what gc does when they are over. */
export function expiryContract(open: OpenManager): void {
  it('a workspace is made with an end, shows it, and may get another or none', async () => {
    const { aw, manager } = await open()
    expect(await manager.call('create', { id: 'plain' })).toMatchObject({ expires_at: null, archives: [] })
    const made = await manager.call('create', { id: 'a', ttl: '12h' })
    const left = Date.parse(made.expires_at ?? '') - Date.parse(made.created_at)
    expect(Math.abs(left - 12 * 3_600_000)).toBeLessThan(60_000)
    expect(await manager.call('show', { id: 'a' })).toMatchObject({ expires_at: made.expires_at })
    expect(await manager.call('list', { task: 'a' })).toMatchObject([{ expires_at: made.expires_at }])
    expect(await manager.call('ttl', { id: 'a', duration: 'none' })).toMatchObject({ expires_at: null })
    const { expires_at } = await manager.call('ttl', { id: 'a', duration: '2w' })
    expect(Date.parse(expires_at ?? '')).toBeGreaterThan(Date.parse(made.expires_at ?? ''))
    expect(await manager.call('ttl', { id: 'a' })).toMatchObject({ expires_at })
    await expect(manager.call('ttl', { id: 'a', duration: 'soon' })).rejects.toEqual(code('invalid_input'))
    await expect(manager.call('ttl', { id: 'none-such', duration: '1h' })).rejects.toEqual(code('workspace_not_found'))
    await aw.destroy('a')
    await expect(manager.call('ttl', { id: made.id, duration: '1h' })).rejects.toEqual(
      code('invalid_state', { state: 'trashed' }),
    )
  })

  it('a fork has the end that it is given, and not that of its origin', async () => {
    const { manager } = await open()
    await manager.call('create', { id: 'a', ttl: '12h' })
    const { forks } = await manager.call('fork', { id: 'a', to: ['b'] })
    expect(forks).toMatchObject([{ workspace: { expires_at: null } }])
    await manager.call('fork', { id: 'a', to: ['c'], ttl: '1h' })
    expect((await manager.call('show', { id: 'c' })).expires_at).not.toBeNull()
    expect((await manager.call('create', { id: 'd', from: { workspace: 'a' }, ttl: '1h' })).expires_at).not.toBeNull()
    expect((await manager.call('ensure', { id: 'b', ttl: '1h' })).expires_at).toBeNull()
    expect((await manager.call('ensure', { id: 'e', ttl: '1h' })).expires_at).not.toBeNull()
  })

  it('when the time is over gc moves it to the trash, from where it comes back for good', async () => {
    const { aw, manager } = await open()
    const made = await aw.create({ id: 'over', ttl: '0s' })
    await made.files.write('work/a', 'kept')
    await aw.create({ id: 'kept', ttl: '0s', labels: { keep: 'yes' } })
    await aw.create({ id: 'leased', ttl: '0s' })
    await manager.call('lease acquire', { id: 'leased', holder: 'ann' })
    const plan = await aw.gc({ plan: true })
    expect(plan).toMatchObject({ applied: false, bytes: 0, items: [{ kind: 'workspace', workspace: 'over/main' }] })
    expect(new Set(plan.kept.map(({ workspace }) => workspace))).toEqual(new Set(['kept/main', 'leased/main']))
    expect((await aw.get('over')).state).toBe('ready')
    const done = await aw.gc({})
    expect(done.items.map(({ tree, reason }) => [tree, reason.slice(0, 40)])).toEqual(
      plan.items.map(({ tree, reason }) => [tree, reason.slice(0, 40)]),
    )
    expect(await manager.call('show', { id: made.id })).toMatchObject({
      state: 'trashed',
      trash: [{ reason: 'retention' }],
    })
    const back = await aw.undelete('over')
    expect(back).toMatchObject({ state: 'ready', expires_at: null })
    expect(await back.files.readText('work/a')).toBe('kept')
    expect((await aw.gc({})).items).toEqual([])
  })

  it('what expired is packed into a file before it is erased, where that is wanted', async () => {
    const { aw, manager } = await open({ 'archive.before_expiry': 'true', 'trash.retention_days': '0' })
    const { id } = await aw.create({ id: 'fix-login/claude', ttl: '0s' })
    await aw.create({ id: 'unwanted' })
    await aw.destroy('unwanted')
    expect((await aw.gc({})).items).toMatchObject([
      { kind: 'tree', workspace: 'unwanted/main', archive: null },
      { kind: 'workspace', action: 'trash', workspace: 'fix-login/claude', archive: null },
    ])
    const { items } = await aw.gc({})
    expect(items).toMatchObject([{ kind: 'tree', workspace: 'fix-login/claude', error: null }])
    const path = items[0]?.archive
    expect(path).toMatch(/\/archives\/fix-login\.claude\.\d{8}T\d{9}Z\.aw\.tar\.zst$/)
    const archives = [{ path, digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string }]
    for (const ref of [id, 'fix-login/claude'])
      expect(await manager.call('show', { id: ref })).toMatchObject({ id, state: 'purged', archives })
    await expect(manager.call('show', { id: 'unwanted' })).rejects.toEqual(code('workspace_not_found'))
    await expect(manager.call('path', { id: 'fix-login/claude' })).rejects.toEqual(code('workspace_not_found'))
    expect(await manager.call('recover', {})).toMatchObject({ orphans: [], leftovers: [], recovered: [] })

    const again = await aw.create({ id: 'fix-login/claude', ttl: '0s' })
    expect((await manager.call('show', { id: 'fix-login/claude' })).id).toBe(again.id)
    await aw.gc({})
    await expect(manager.call('show', { id: 'fix-login/claude' })).rejects.toMatchObject({ data: { state: 'trashed' } })
    await aw.gc({})
    await expect(manager.call('show', { id: 'fix-login/claude' })).rejects.toMatchObject({
      data: { ids: [id, again.id] },
    })
  })
}
