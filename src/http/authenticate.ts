import type { IncomingMessage } from 'node:http'
import type { Principal } from '../access/principal.ts'
import { valuesOf } from './guard.ts'
import { Refusal } from './refusal.ts'

/** Finds out who has a secret; undefined if nobody has, or not any more. */
export type Authenticate = (secret: string) => Promise<Principal | undefined>

/** Where requests come in. */
export interface ListenerInfo {
  /** What Host may say here. */
  readonly hosts: readonly string[]
  /** Who it is that comes without a token: only where nobody else can come in. */
  readonly local?: Principal | undefined
  /** The one path that is there. */
  readonly only?: string | undefined
  /** Called when it is known who asks. */
  readonly known?: (() => void) | undefined
}

export interface Caller {
  readonly principal: Principal
  readonly secret: string | undefined
}

export async function callerOf(
  request: IncomingMessage,
  { local, known }: ListenerInfo,
  authenticate: Authenticate,
): Promise<Caller> {
  const [authorization, ...others] = valuesOf(request, 'authorization')
  if (authorization === undefined) {
    if (local !== undefined) known?.()
    if (local !== undefined) return { principal: local, secret: undefined }
    throw unauthorized('There is no token with this request')
  }
  if (others.length > 0) throw unauthorized('There is more than one token with this request')
  const secret = /^Bearer ([\w.~+/=-]{1,256})$/i.exec(authorization)?.[1]
  const principal = secret === undefined ? undefined : await authenticate(secret)
  if (secret === undefined || principal === undefined) throw unauthorized('The token is not valid, or not any more')
  known?.()
  return { principal, secret }
}

const unauthorized = (message: string): Refusal =>
  new Refusal(401, 'unauthorized', message, 'Send Authorization: Bearer TOKEN; make one with aw token create', {
    'WWW-Authenticate': 'Bearer',
  })
