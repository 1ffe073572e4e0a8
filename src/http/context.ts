import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isAdmin, type Principal } from '../access/principal.ts'
import type { CallContext } from '../ports/manager.ts'
import { headerOf } from './guard.ts'
import { Refusal } from './refusal.ts'

const isLine = (text: string): boolean =>
  text.length > 0 && text.length <= 200 && text.isWellFormed() && !/\p{Cc}/u.test(text)

export type RequestContext = CallContext & { readonly correlationId: string }

/**
 * Who asks and why, from headers. Only whoever may do everything may speak for another.
 *
 * @param made what ties the events together if the caller does not say
 */
export function contextOf(request: IncomingMessage, principal: Principal, made: string): RequestContext {
  const line = (name: string): string | undefined => {
    const value = headerOf(request, name)
    if (value === undefined) return undefined
    const text = lineIn(value)
    if (text !== undefined) return text
    throw new Refusal(400, 'invalid_input', `The header ${name} must be one line of text, percent-encoded`)
  }
  const correlationId = line('aw-correlation-id') ?? made
  const causationId = line('aw-causation-id')
  const actor = isAdmin(principal) ? line('aw-actor') : undefined
  const lease = line('aw-lease')
  return {
    actor: actor ?? principal.actor,
    correlationId,
    ...(causationId !== undefined && { causationId }),
    ...(lease !== undefined && { lease }),
  }
}

function lineIn(value: string): string | undefined {
  try {
    const text = decodeURIComponent(value)
    return isLine(text) ? text : undefined
  } catch {
    return undefined
  }
}

/** What the caller says that its request belongs to; one that is not well formed is refused by `contextOf`. */
export function correlationOf({ headers }: IncomingMessage): string | undefined {
  const given = headers['aw-correlation-id']
  return typeof given === 'string' ? lineIn(given) : undefined
}

export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.:-]{1,100}$/.test(given) ? given : `req_${randomUUID()}`
}
