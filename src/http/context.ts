import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isAdmin, type Principal } from '../access/principal.ts'
import type { CallContext } from '../ports/manager.ts'
import { Refusal } from './refusal.ts'

const isLine = (text: string): boolean =>
  text.length > 0 && text.length <= 200 && text.isWellFormed() && !/\p{Cc}/u.test(text)

/** Who asks and why, from headers. Only whoever may do everything may speak for another. */
export function contextOf({ headers }: IncomingMessage, principal: Principal): CallContext {
  const line = (name: string): string | undefined => {
    const value = headers[name]
    if (typeof value !== 'string') return undefined
    try {
      const text = decodeURIComponent(value)
      if (isLine(text)) return text
    } catch {
      // Refused below.
    }
    throw new Refusal(400, 'invalid_input', `The header ${name} must be one line of text, percent-encoded`)
  }
  const correlationId = line('aw-correlation-id')
  const causationId = line('aw-causation-id')
  const actor = isAdmin(principal) ? line('aw-actor') : undefined
  const lease = line('aw-lease')
  return {
    actor: actor ?? principal.actor,
    ...(correlationId !== undefined && { correlationId }),
    ...(causationId !== undefined && { causationId }),
    ...(lease !== undefined && { lease }),
  }
}

export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.:-]{1,100}$/.test(given) ? given : `req_${randomUUID()}`
}
