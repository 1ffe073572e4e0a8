import { hash } from 'node:crypto'
import { AwError } from '../errors.ts'
import type { AnyEvent, EventType } from '../log/event.ts'
import { isWorkspaceId, type BoxId, type TokenId, type WorkspaceId } from '../ids.ts'
import type { Scope } from './scopes.ts'

/** With which somebody who is not the user of the home may use it: what they may do, in which workspaces, until when. */
export interface Token {
  readonly id: TokenId
  readonly label: string | null
  readonly scopes: readonly Scope[]
  /** Ids, or names in which `*` stands for any characters but a slash; null: every workspace. */
  readonly workspaces: readonly string[] | null
  readonly created_at: string
  readonly expires_at: string | null
  /** It is for what runs in this sandbox, and is over with it. */
  readonly sandbox?: BoxId | undefined
}

export interface TokenFacts {
  token: TokenId
  /** SHA-256 of the secret, in hex. The secret itself is nowhere. */
  hash: string
  label: string | null
  scopes: readonly Scope[]
  workspaces: readonly string[] | null
  expires_at: string | null
  /** The token whose place it takes. */
  replaces: TokenId | null
  /** It is for what runs in this sandbox, and is over with it. */
  sandbox?: BoxId | undefined
}

export interface TokenRevocation {
  token: TokenId
  reason: 'user' | 'rotated' | 'workspace_destroyed' | 'sandbox_ended'
  /** Only this workspace is taken from it; null: all. */
  workspace: WorkspaceId | null
  /** From when on; null: at once, whatever a clock says. */
  from: string | null
}

/** A token as the log knows it. */
export interface KnownToken extends Token {
  readonly hash: string
  readonly replaces: TokenId | null
  readonly created_by: string
  readonly revoked: {
    readonly reason: TokenRevocation['reason']
    readonly at: string
    readonly from: string | null
  } | null
}

export const tokenEventTypes = ['token_created', 'token_revoked'] as const satisfies EventType[]

/** All that ever were, oldest first, by id. An event that is there twice changes nothing. */
export function foldTokens(
  before: ReadonlyMap<TokenId, KnownToken>,
  events: Iterable<AnyEvent>,
): Map<TokenId, KnownToken> {
  const tokens = new Map(before)
  for (const event of events) {
    if (event.type === 'token_created' && !tokens.has(event.data.token)) {
      const { token: id, ...facts } = event.data
      tokens.set(id, { id, ...facts, created_at: event.at, created_by: event.meta.actor, revoked: null })
    }
    if (event.type === 'token_revoked') {
      const token = tokens.get(event.data.token)
      if (token !== undefined) tokens.set(token.id, revokedBy(token, event.data, event.at))
    }
  }
  return tokens
}

function revokedBy(token: KnownToken, { reason, workspace, from }: TokenRevocation, at: string): KnownToken {
  const left = workspace === null ? [] : (token.workspaces?.filter((pattern) => pattern !== workspace) ?? [])
  if (left.length > 0) return { ...token, workspaces: left }
  // What was to end later may end sooner, and never the other way round.
  const earlier = token.revoked
  const isSooner = earlier === null || (earlier.from !== null && (from === null || from < earlier.from))
  return isSooner ? { ...token, revoked: { reason, at, from } } : token
}

export type TokenState = 'active' | 'expired' | 'revoked'

export function stateOf({ revoked, expires_at: end }: KnownToken, now: number): TokenState {
  if (revoked !== null && (revoked.from === null || Date.parse(revoked.from) <= now)) return 'revoked'
  return end !== null && Date.parse(end) <= now ? 'expired' : 'active'
}

/** When, by the clock, it ends or has ended. */
export const endTimes = ({ revoked, expires_at: end }: KnownToken): number[] =>
  [revoked?.from, end].flatMap((time) => (time == null ? [] : [Date.parse(time)]))

/** Tokens that are to lose a workspace that is no more. */
export const tokensNaming = (tokens: Iterable<KnownToken>, id: WorkspaceId): KnownToken[] =>
  [...tokens].filter(({ workspaces, revoked }) => revoked?.from !== null && workspaces?.includes(id) === true)

const prefix = 'aw_'
const secretForm = /^aw_[A-Za-z0-9_-]{43}$/

/** @param random 32 random bytes */
export const makeSecret = (random: Uint8Array): string => `${prefix}${Buffer.from(random).toString('base64url')}`

export const isSecret = (text: string): boolean => secretForm.test(text)

export const hashOf = (secret: string): string => hash('sha256', secret, 'hex')

/** What an agent needs to work in its workspace. */
export const defaultScopes: readonly Scope[] = ['read', 'fs:read', 'fs:write', 'exec', 'snapshot']
/** About the home or the machine, or for people: none of this can be held to a workspace. */
const notHeld: readonly Scope[] = ['admin', 'approve']

/** The scopes that were asked for, or those that are meant. */
export function checkedScopes(asked: readonly Scope[] | undefined, isHeld: boolean): readonly Scope[] {
  const scopes = [...new Set(asked ?? [])]
  if (scopes.length === 0) {
    if (isHeld) return defaultScopes
    throw new AwError('invalid_input', 'A token for every workspace needs to say what it is for', {
      hint: 'Say it, for instance --scope read; or hold it to a workspace: --workspace ID',
      data: { field: 'scopes' },
    })
  }
  const wrong = scopes.find((scope) => isHeld && notHeld.includes(scope))
  if (wrong === undefined) return scopes
  throw new AwError('invalid_input', `A token that is held to workspaces cannot have the scope ${wrong}`, {
    hint: 'Leave out the scope, or the workspaces',
    data: { field: 'scopes', scope: wrong },
  })
}

const segment = /^[A-Za-z0-9*][A-Za-z0-9._*-]{0,99}$/

/** `fix-*`/`*`; undefined if it is the id or the name of one workspace. */
export function checkedPattern(text: string): string | undefined {
  if (isWorkspaceId(text) || !text.includes('*')) return undefined
  const parts = text.split('/')
  if (parts.length === 2 && parts.every((part) => segment.test(part))) return text
  throw new AwError('invalid_input', `${JSON.stringify(text.slice(0, 200))} is no pattern for names of workspaces`, {
    hint: 'Write TASK/AGENT with * for any characters: fix-*/*, or */main',
    data: { field: 'workspaces' },
  })
}
