import { expect, it } from 'vitest'
import { collect } from '../../support/collect.ts'
import { code, type OpenManager } from '../manager.ts'

export function tokenContract(open: OpenManager): void {
  it('a token is told once, and is nowhere in the log or in a list', async () => {
    const { aw, manager } = await open()
    const { token, ...rest } = await aw.token.create({ scopes: ['read', 'fs:read'], label: 'viewer', expires: '12h' })
    expect(token).toMatch(/^aw_[\w-]{43}$/)
    expect(rest).toMatchObject({ label: 'viewer', scopes: ['read', 'fs:read'], workspaces: null, state: 'active' })
    expect(rest.id).toMatch(/^tok_/)
    expect(Date.parse(rest.expires_at ?? '') - Date.parse(rest.created_at)).toBeGreaterThan(11 * 3_600_000)
    expect(await aw.token.list()).toEqual([rest])
    expect(JSON.stringify(await collect(manager.stream('events', {})))).not.toContain(token.slice(3))
    expect(JSON.stringify(await aw.token.list())).not.toMatch(/[0-9a-f]{64}/)
    expect((await aw.token.create({ scopes: ['read'] })).token).not.toBe(token)
  })

  it('a token for a workspace is for work in it, and never for more', async () => {
    const { aw } = await open()
    const { id } = await aw.create({ id: 'fix/a' })
    const usual = ['read', 'fs:read', 'fs:write', 'exec', 'snapshot']
    expect(await aw.token.create({ workspaces: [id] })).toMatchObject({ scopes: usual, workspaces: [id] })
    // A name means the workspace that has it now.
    expect(await aw.token.create({ workspaces: ['fix/a', id, 'fix-*/*'] })).toMatchObject({
      workspaces: [id, 'fix-*/*'],
    })
    for (const scope of ['admin', 'approve'] as const)
      await expect(aw.token.create({ scopes: [scope], workspaces: ['*/*'] })).rejects.toEqual(code('invalid_input'))
    await expect(aw.token.create({})).rejects.toEqual(code('invalid_input'))
    await expect(aw.token.create({ workspaces: [] })).rejects.toEqual(code('invalid_input'))
    await expect(aw.token.create({ workspaces: ['fix-*'] })).rejects.toEqual(code('invalid_input'))
    await expect(aw.token.create({ workspaces: ['other'] })).rejects.toEqual(code('workspace_not_found'))
    await expect(aw.token.create({ scopes: ['read'], expires: 'soon' })).rejects.toEqual(code('invalid_input'))
    await aw.destroy('fix/a')
    await expect(aw.token.create({ workspaces: [id] })).rejects.toEqual(code('workspace_not_found'))
    expect(await aw.token.list()).toHaveLength(2)
  })

  it('is revoked once and for good', async () => {
    const { aw, manager } = await open()
    const { id } = await aw.token.create({ scopes: ['read'] })
    const gone = { id, state: 'revoked', revoked: { reason: 'user' } }
    const first = await aw.token.revoke(id)
    expect(first).toMatchObject(gone)
    expect(await aw.token.revoke(id)).toEqual(first)
    expect(await aw.token.list()).toMatchObject([gone])
    expect(await collect(manager.stream('events', { type: ['token_revoked'] }))).toHaveLength(1)
    await expect(aw.token.rotate(id)).rejects.toEqual(code('token_not_found', { state: 'revoked' }))
    await expect(aw.token.revoke('tok_unknown')).rejects.toEqual(code('token_not_found'))
  })

  it('a secret that is taken for an id is not repeated', async () => {
    const { aw } = await open()
    const { token } = await aw.token.create({ scopes: ['read'] })
    const refused = await aw.token.revoke(token).catch((error: unknown) => error)
    expect(refused).toEqual(code('token_not_found'))
    expect(JSON.stringify(refused)).not.toContain(token)
  })

  it('is rotated: the same rights under a new secret, and the old one ends at once or a little later', async () => {
    const { aw } = await open()
    const { id: workspace } = await aw.create({ id: 'a' })
    const old = await aw.token.create({ scopes: ['read'], workspaces: [workspace], label: 'x', expires: '1h' })
    const next = await aw.token.rotate(old.id, { grace: '10m' })
    const { label, scopes, workspaces, expires_at } = old
    expect(next).toMatchObject({ label, scopes, workspaces, expires_at, replaces: old.id, state: 'active' })
    expect([next.id, next.token]).not.toEqual([old.id, old.token])
    const [ending] = await aw.token.list()
    expect(ending).toMatchObject({ id: old.id, state: 'active', revoked: { reason: 'rotated' } })
    const last = await aw.token.rotate(next.id, { expires: '2h' })
    expect(last.expires_at ?? '').not.toBe(expires_at)
    expect(await aw.token.list({ state: 'revoked' })).toMatchObject([{ id: next.id, revoked: { reason: 'rotated' } }])
    // What has its end before it does not wait for it.
    expect(await aw.token.revoke(old.id)).toMatchObject({ state: 'revoked', revoked: { reason: 'user' } })
  })

  it('goes with the workspace that it names, and does not come back with it', async () => {
    const { aw } = await open()
    const { id: a } = await aw.create({ id: 'fix/a' })
    const { id: b } = await aw.create({ id: 'fix/b' })
    const one = await aw.token.create({ workspaces: [a] })
    const both = await aw.token.create({ workspaces: [a, b] })
    const pattern = await aw.token.create({ workspaces: ['fix/*'] })
    await aw.destroy('fix/a')
    const left = [
      { id: one.id, state: 'revoked', revoked: { reason: 'workspace_destroyed' } },
      { id: both.id, state: 'active', workspaces: [b] },
      { id: pattern.id, state: 'active', workspaces: ['fix/*'] },
    ]
    expect(await aw.token.list()).toMatchObject(left)
    await aw.undelete('fix/a')
    expect(await aw.token.list()).toMatchObject(left)
    await aw.destroy('fix/b', { purge: true })
    expect(await aw.token.list({ state: 'active' })).toMatchObject([{ id: pattern.id }])
  })

  it('lists page by page', async () => {
    const { aw } = await open()
    const ids: string[] = []
    // So many that several are made in the same moment.
    for (let i = 0; i < 20; i++) ids.push((await aw.token.create({ scopes: ['read'] })).id)
    const seen: string[] = []
    for (let after: string | undefined; seen.length < ids.length; after = seen.at(-1)) {
      const page = await aw.token.list({ limit: 3, ...(after !== undefined && { after }) })
      expect(page.length).toBeGreaterThan(0)
      seen.push(...page.map(({ id }) => id))
    }
    expect(seen).toEqual(ids)
    expect(await aw.token.list({ after: ids.at(-1) })).toEqual([])
    await expect(aw.token.list({ after: 'tok_none' })).rejects.toEqual(code('token_not_found'))
  })
}
