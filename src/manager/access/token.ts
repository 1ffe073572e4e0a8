import type { Inputs, Outputs } from '../../api/table.ts'
import { parseDuration } from '../../domain/text/duration.ts'
import { AwError } from '../../domain/errors.ts'
import type { EventData } from '../../domain/log/event.ts'
import type { TokenId } from '../../domain/ids.ts'
import { checkedPattern, checkedScopes, hashOf, type KnownToken, makeSecret } from '../../domain/tokens/tokens.ts'
import { isLive } from '../../domain/workspace/state.ts'
import { newEvent, newId, type Core, type Request } from '../core.ts'
import { findWorkspace, notFound } from '../kernel/find.ts'
import { appendHome } from '../kernel/home-stream.ts'

type View = Outputs['token list'][number]
type Made = Outputs['token create']

/** The secret is in the answer, and nowhere else: not in the log, not on disk. */
export async function createToken(core: Core, input: Inputs['token create'], request: Request): Promise<Made> {
  const asked = input.workspaces
  if (asked?.length === 0) throw noWorkspace()
  const scopes = checkedScopes(input.scopes, asked !== undefined)
  const workspaces = asked === undefined ? null : [...new Set(await Promise.all(asked.map((ref) => named(core, ref))))]
  const expires_at = input.expires === undefined ? null : await expiry(core, input.expires)
  const { secret, facts } = makeToken(core, {
    label: input.label ?? null,
    scopes,
    workspaces,
    expires_at,
    replaces: null,
  })
  await appendHome(core, newEvent(core, request, 'token_created', facts))
  return { ...(await show(core, facts.token)), token: secret }
}

export function makeToken(core: Core, rights: Omit<EventData['token_created'], 'token' | 'hash'>) {
  const secret = makeSecret(core.clock.random(32))
  return { secret, facts: { token: newId(core, 'tok'), hash: hashOf(secret), ...rights } }
}

/** A pattern as it is; else the id of a workspace that is there, so that another of its name is not meant later. */
async function named(core: Core, ref: string): Promise<string> {
  const pattern = checkedPattern(ref)
  if (pattern !== undefined) return pattern
  const workspace = await findWorkspace(core, ref)
  if (!isLive(workspace.state)) throw await notFound(core, ref)
  return workspace.id
}

const noWorkspace = (): AwError =>
  new AwError('invalid_input', 'A token for no workspace at all is of no use', {
    hint: 'Name a workspace, or leave that out: then it is for all of them',
    data: { field: 'workspaces' },
  })

/** By the clock: if that was ever ahead, a token is not to last longer for it. */
const later = (core: Core, duration: string, field: string): string =>
  new Date(core.clock.now().getTime() + parseDuration(duration, field)).toISOString()

async function expiry(core: Core, duration: string): Promise<string> {
  const end = later(core, duration, 'expires')
  const latest = new Date(await core.tokenTime.now()).toISOString()
  if (end > latest) return end
  throw new AwError(
    'invalid_input',
    `The token would have expired already: this machine's clock has been at ${latest}`,
    {
      hint: 'Let it expire later than that, or leave --expires out',
      data: { field: 'expires', latest },
    },
  )
}

export async function listTokens(core: Core, input: Inputs['token list']): Promise<readonly View[]> {
  const all: View[] = []
  for (const token of (await core.tokens.all()).values()) all.push(await viewOf(core, token))
  // They are in the order in which they were made, which their ids do not tell within a millisecond.
  const from = input.after === undefined ? 0 : all.findIndex(({ id }) => id === input.after) + 1
  if (input.after !== undefined && from === 0) throw unknownToken(input.after)
  return all
    .slice(from)
    .filter(({ state }) => input.state === undefined || state === input.state)
    .slice(0, input.limit)
}

/** Absent = an error, over = done. */
export async function revokeToken(core: Core, input: Inputs['token revoke'], request: Request): Promise<View> {
  const { id, state } = await show(core, input.id)
  if (state === 'revoked') return show(core, id)
  const data = { token: id as TokenId, reason: 'user' as const, workspace: null, from: null }
  await appendHome(core, newEvent(core, request, 'token_revoked', data))
  return show(core, id)
}

/** Another secret for the same rights. Both facts are in the log at once: there is never none, and never one too many. */
export async function rotateToken(core: Core, input: Inputs['token rotate'], request: Request): Promise<Made> {
  const old = await find(core, input.id)
  const state = await core.tokenTime.stateOf(old)
  if (state !== 'active') throw isOver(old, state)
  const { label, scopes, workspaces, sandbox } = old
  const expires_at = input.expires === undefined ? old.expires_at : await expiry(core, input.expires)
  const { secret, facts } = makeToken(core, {
    label,
    scopes,
    workspaces,
    expires_at,
    replaces: old.id,
    ...(sandbox && { sandbox }),
  })
  const from = input.grace === undefined ? null : later(core, input.grace, 'grace')
  await appendHome(
    core,
    newEvent(core, request, 'token_created', facts),
    newEvent(core, request, 'token_revoked', { token: old.id, reason: 'rotated', workspace: null, from }),
  )
  return { ...(await show(core, facts.token)), token: secret }
}

const show = async (core: Core, id: string): Promise<View> => viewOf(core, await find(core, id))

async function find(core: Core, id: string): Promise<KnownToken> {
  const found = (await core.tokens.all()).get(id as TokenId)
  if (found !== undefined) return found
  throw unknownToken(id)
}

function unknownToken(id: string): AwError {
  // Who mistakes it for its id gives the secret: it must not come back in a message.
  const said = /^tok_[0-9a-z]{1,40}$/.test(id) ? ` ${id}` : ' with that id'
  return new AwError('token_not_found', `There is no token${said}`, { hint: 'See which there are: aw token list' })
}

const isOver = ({ id }: KnownToken, state: string): AwError =>
  new AwError('token_not_found', `The token ${id} is ${state}`, {
    hint: 'Make a new one: aw token create',
    data: { token: id, state },
  })

/** Never the hash. */
async function viewOf(core: Core, token: KnownToken): Promise<View> {
  const { id, label, scopes, workspaces, created_at, created_by, expires_at, replaces, sandbox, revoked } = token
  return {
    id,
    label,
    scopes,
    workspaces,
    state: await core.tokenTime.stateOf(token),
    created_at,
    created_by,
    expires_at,
    replaces,
    ...(sandbox && { sandbox }),
    revoked: revoked && { reason: revoked.reason, from: revoked.from ?? revoked.at },
  }
}
