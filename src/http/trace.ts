import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { makeId } from '../domain/ids.ts'
import { correlationOf, requestIdOf } from './context.ts'

/** What a request has become so far, for the log. */
export interface Trace {
  readonly requestId: string
  /** In every event that comes of it: the caller's own, or one that is made here, before anything is looked at. */
  readonly correlationId: string
  operation: string
  actor: string | undefined
}

/** For what nobody has said to belong to something. */
export const newCorrelationId = (): string => makeId('cor', Date.now(), randomBytes(10))

export const traceOf = (request: IncomingMessage): Trace => ({
  requestId: requestIdOf(request),
  correlationId: correlationOf(request) ?? newCorrelationId(),
  operation: 'none',
  actor: undefined,
})

/** What every answer says about its request, so that its caller finds it in the log of the daemon and in the events. */
export const traceHeaders = ({ requestId, correlationId }: Trace): Record<string, string> => ({
  'X-Request-Id': requestId,
  'AW-Correlation-Id': encodeURIComponent(correlationId),
})
