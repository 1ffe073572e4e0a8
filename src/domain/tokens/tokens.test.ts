import { describe, expect, it } from 'vitest'
import { sampleEvent } from '../../../test/support/sample-events.ts'
import type { AnyEvent, EventData } from '../log/event.ts'
import type { TokenId, WorkspaceId } from '../ids.ts'
import {
  checkedPattern,
  checkedScopes,
  foldTokens,
  hashOf,
  isSecret,
  type KnownToken,
  makeSecret,
  stateOf,
  tokensNaming,
} from './tokens.ts'

const a: WorkspaceId = 'ws_01hzx5k8w4000000000000000a'
const b: WorkspaceId = 'ws_01hzx5k8w4000000000000000b'
const minute = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()
const at = (n: number): number => Date.parse(minute(n))

const token = 'tok_1' as TokenId
const created = (data: Partial<EventData['token_created']> = {}): AnyEvent =>
  sampleEvent('token_created', { data: { token, expires_at: null, ...data }, at: minute(0) }) as AnyEvent
const revoked = (data: Partial<EventData['token_revoked']> = {}, n = 1): AnyEvent =>
  sampleEvent('token_revoked', { data: { token, reason: 'user', from: null, ...data }, at: minute(n) }) as AnyEvent

const folded = (...events: AnyEvent[]): KnownToken => {
  const found = foldTokens(new Map(), events).get(token)
  if (found === undefined) throw new Error('there is no token')
  return found
}

describe('a secret', () => {
  it('is 256 bits behind a prefix, and is known by its hash alone', () => {
    const secret = makeSecret(new Uint8Array(32).fill(255))
    expect(secret).toMatch(/^aw_[\w-]{43}$/)
    expect(isSecret(secret)).toBe(true)
    expect(hashOf(secret)).toMatch(/^[0-9a-f]{64}$/)
    expect(hashOf(secret)).not.toContain(secret.slice(3))
  })

  it.each(['', 'aw_', 'aw_short', `aw_${'x'.repeat(44)}`, `xx_${'x'.repeat(43)}`, `aw_${'x'.repeat(43)}\n`])(
    '%j is none',
    (text) => {
      expect(isSecret(text)).toBe(false)
    },
  )
})

describe('a token', () => {
  it('is active until it expires', () => {
    const token1 = folded(created({ expires_at: minute(10) }))
    expect(stateOf(token1, at(9))).toBe('active')
    expect(stateOf(token1, at(10))).toBe('expired')
    expect(stateOf(folded(created()), at(1_000_000))).toBe('active')
  })

  it('is revoked at once whatever the clock says, or from an instant on', () => {
    expect(stateOf(folded(created(), revoked({}, 5)), at(0))).toBe('revoked')
    const later = folded(created(), revoked({ reason: 'rotated', from: minute(10) }))
    expect([stateOf(later, at(9)), stateOf(later, at(10))]).toEqual(['active', 'revoked'])
  })

  it('ends at the first of several ends', () => {
    const grace = (n: number): AnyEvent => revoked({ reason: 'rotated', from: minute(n) })
    expect(folded(created(), grace(10), grace(20)).revoked?.from).toBe(minute(10))
    expect(folded(created(), grace(20), grace(10)).revoked?.from).toBe(minute(10))
    expect(folded(created(), grace(10), revoked()).revoked).toMatchObject({ reason: 'user', from: null })
    expect(folded(created(), revoked(), grace(10)).revoked).toMatchObject({ reason: 'user', from: null })
  })

  it('loses a workspace that is gone, and is revoked with the last one', () => {
    const gone = (workspace: WorkspaceId): AnyEvent => revoked({ reason: 'workspace_destroyed', workspace })
    const both = created({ workspaces: [a, b] })
    expect(folded(both, gone(a))).toMatchObject({ workspaces: [b], revoked: null })
    expect(folded(both, gone(a), gone(b))).toMatchObject({
      workspaces: [b],
      revoked: { reason: 'workspace_destroyed' },
    })
    expect(folded(created({ workspaces: [a, 'x-*/*'] }), gone(a))).toMatchObject({
      workspaces: ['x-*/*'],
      revoked: null,
    })
  })

  it('is the same when its events are read again', () => {
    const events = [created({ workspaces: [a, b] }), revoked({ reason: 'workspace_destroyed', workspace: a })]
    const once = foldTokens(new Map(), events)
    expect(foldTokens(once, events)).toEqual(once)
    expect(foldTokens(once, [revoked({ token: 'tok_unknown' })])).toEqual(once)
  })

  it('is found by the workspace that it names, unless it is revoked already', () => {
    const known = [folded(created({ workspaces: [a] })), folded(created({ workspaces: [a, b] }), revoked())]
    expect(tokensNaming(known, a)).toEqual([known[0]])
    expect(tokensNaming([folded(created({ workspaces: null })), folded(created({ workspaces: ['*/*'] }))], a)).toEqual(
      [],
    )
    const inGrace = folded(created({ workspaces: [a] }), revoked({ reason: 'rotated', from: minute(10) }))
    expect(tokensNaming([inGrace], a)).toEqual([inGrace])
  })
})

describe('what a token may be asked for', () => {
  it('scopes, or for a workspace those of work in it', () => {
    expect(checkedScopes(['read', 'read', 'env'], true)).toEqual(['read', 'env'])
    expect(checkedScopes(['admin', 'approve'], false)).toEqual(['admin', 'approve'])
    expect(checkedScopes(undefined, true)).toEqual(['read', 'fs:read', 'fs:write', 'exec', 'snapshot'])
    const wrong = { code: 'invalid_input', data: { field: 'scopes' } }
    expect(() => checkedScopes(undefined, false)).toThrow(expect.objectContaining(wrong))
    for (const scope of ['admin', 'approve'] as const)
      expect(() => checkedScopes(['read', scope], true)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })

  it.each(['*/*', 'fix-*/*', 'fix-login/*', '*-x/main', 'a*b/c*d'])('%s is a pattern', (text) => {
    expect(checkedPattern(text)).toBe(text)
  })

  it.each([a, 'fix-login', 'fix-login/main'])('%s is one workspace', (text) => {
    expect(checkedPattern(text)).toBeUndefined()
  })

  it.each(['*', 'fix-*', '*/*/*', '/*', '*/', '../*', 'a b/*', '[a]*/x', '*\n/*', `${'x'.repeat(101)}*/a`])(
    '%j is neither',
    (text) => {
      expect(() => checkedPattern(text)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
    },
  )
})
