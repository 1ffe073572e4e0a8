import { timingSafeEqual } from 'node:crypto'
import { expect, it } from 'vitest'
import { makeAw } from '../../client/facade.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import { hashOf, makeSecret } from '../../domain/tokens/tokens.ts'
import { memoryCore } from '../../../test/memory/core.ts'
import { sampleEvent } from '../../../test/support/sample-events.ts'
import { tokenFinder } from './token-finder.ts'

function scene() {
  let ms = Date.UTC(2026, 0, 1)
  const now = (): Date => new Date(ms)
  const core = memoryCore({ now: () => new Date((ms += 1)) })
  const clock = { now, random: () => new Uint8Array() }
  const tokens = tokenFinder({ store: core.store, clock, isSame: timingSafeEqual })
  const pass = (minutes: number): void => void (ms += minutes * 60_000)
  /** What another process finds, with the same clock and the same home. */
  const anew = () => tokenFinder({ store: core.store, clock, isSame: timingSafeEqual })
  return { ...core, aw: makeAw(core.manager), tokens, anew, pass }
}

it('finds a token by its secret, and nothing by anything else', async () => {
  const { aw, tokens } = scene()
  const { token, id, created_at } = await aw.token.create({ scopes: ['read'], label: 'x' })
  const found = { id, label: 'x', scopes: ['read'], workspaces: null, created_at, expires_at: null }
  expect(await tokens.find(token)).toEqual(found)
  const other = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
  for (const wrong of ['', id, token.slice(3), `${token} `, token.toUpperCase(), other])
    expect(await tokens.find(wrong)).toBeUndefined()
})

it('knows at once what others make and revoke', async () => {
  const { aw, tokens, start } = scene()
  const first = await aw.token.create({ scopes: ['read'] })
  expect(await tokens.find(first.token)).toBeDefined()
  const other = makeAw(start().manager)
  const second = await other.token.create({ scopes: ['exec'] })
  expect(await tokens.find(second.token)).toMatchObject({ scopes: ['exec'] })
  await other.token.revoke(first.id)
  expect(await tokens.find(first.token)).toBeUndefined()
  expect(await tokens.find(second.token)).toBeDefined()
})

it('does not bring back what has expired when the clock is set back', async () => {
  const { aw, tokens, anew, pass, start } = scene()
  const { token, id } = await aw.token.create({ scopes: ['read'], expires: '10m' })
  const old = await aw.token.create({ scopes: ['read'] })
  await aw.token.rotate(old.id, { grace: '10m' })
  expect(await tokens.find(token)).toBeDefined()
  pass(11)
  expect(await tokens.find(token)).toBeUndefined()
  pass(-60)
  for (const one of [tokens, anew()])
    for (const secret of [token, old.token]) expect(await one.find(secret)).toBeUndefined()
  const later = makeAw(start().manager)
  expect(await later.token.list({ state: 'expired' })).toMatchObject([{ id }])
  await expect(later.token.rotate(id)).rejects.toMatchObject({ code: 'token_not_found' })
})

it('takes what the log has seen for the time, if the clock is behind that', async () => {
  const { aw, anew, pass } = scene()
  const { token } = await aw.token.create({ scopes: ['read'], expires: '10m' })
  pass(11)
  // Nobody has asked for the token since, but something else has happened.
  await aw.create({ id: 'a' })
  pass(-60)
  expect(await anew().find(token)).toBeUndefined()
  await expect(aw.token.create({ scopes: ['read'], expires: '10m' })).rejects.toMatchObject({ code: 'invalid_input' })
  const { token: valid } = await aw.token.create({ scopes: ['read'], expires: '2h' })
  expect(await anew().find(valid)).toBeDefined()
})

it('ends an old secret after its grace', async () => {
  const { aw, tokens, pass } = scene()
  const old = await aw.token.create({ scopes: ['read'] })
  const { token } = await aw.token.rotate(old.id, { grace: '10m' })
  expect(await tokens.find(old.token)).toBeDefined()
  pass(11)
  expect(await tokens.find(old.token)).toBeUndefined()
  expect(await tokens.find(token)).toBeDefined()
})

it('whoever dies at any step of a destroy leaves no token of a workspace that is gone, nor of one that comes back', async () => {
  const whole = scene()
  const { id: first } = await whole.aw.create({ id: 'a' })
  await whole.aw.token.create({ workspaces: [first] })
  const start = whole.start(1000)
  await start.manager.call('destroy', { id: 'a' })
  const steps = 1000 - start.left()
  expect(steps).toBeGreaterThan(3)
  for (let step = 0; step < steps; step++) {
    const { aw, tokens, start: begin } = scene()
    const { id } = await aw.create({ id: 'a' })
    const { token, id: made } = await aw.token.create({ workspaces: [id] })
    const dying = begin(step)
    await expect(dying.manager.call('destroy', { id: 'a' })).rejects.toThrow('This process was killed')
    dying.end()
    await aw.recover()
    const { state } = await aw.show(id)
    // Before the intent nothing has happened.
    const isGone = state === 'trashed'
    expect([step, isGone, (await tokens.find(token)) === undefined]).toEqual([step, isGone, isGone])
    if (!isGone) continue
    await aw.undelete('a')
    expect(await tokens.find(token)).toBeUndefined()
    expect(await aw.token.list()).toMatchObject([{ id: made, revoked: { reason: 'workspace_destroyed' } }])
  }
})

it('a token that was made while its workspace went is none, also when that comes back', async () => {
  const { aw, tokens, store } = scene()
  const { id } = await aw.create({ id: 'a' })
  await aw.destroy('a')
  // As if it had been written a moment too late.
  const secret = makeSecret(new Uint8Array(32))
  const data = { token: 'tok_late' as const, hash: hashOf(secret), workspaces: [id as WorkspaceId], expires_at: null }
  await store.append('home', await store.version('home'), [sampleEvent('token_created', { data })])
  expect(await tokens.find(secret)).toBeUndefined()
  await aw.undelete('a')
  expect(await tokens.find(secret)).toBeUndefined()
  expect(await aw.token.list()).toMatchObject([{ id: 'tok_late', state: 'revoked' }])
})

it('knows a token of a sandbox as long as the log says that it stands, revoked or not', async () => {
  const { aw, tokens, store } = scene()
  const { id } = await aw.create({ id: 'a' })
  const { sandbox } = await aw.start('a')
  const secret = makeSecret(new Uint8Array(32).fill(7))
  const data = { hash: hashOf(secret), workspaces: [id], expires_at: null, sandbox: sandbox?.id as `box_${string}` }
  await store.append('home', await store.version('home'), [sampleEvent('token_created', { data })])
  expect(await tokens.find(secret)).toMatchObject({ sandbox: sandbox?.id })
  await aw.stop('a')
  expect(await tokens.find(secret)).toBeUndefined()
  await aw.start('a')
  expect(await tokens.find(secret)).toBeUndefined()
})
