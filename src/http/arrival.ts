import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendProblem } from './answer.ts'
import { Refusal } from './refusal.ts'

const awaited = new WeakMap<IncomingMessage, NodeJS.Timeout>()

/** All of a request has to be there in time: nobody keeps a connection by sending one byte after another. */
export function expectSoon(request: IncomingMessage, response: ServerResponse, ms: number): void {
  const late = (): void => {
    if (!request.complete) sendProblem(response, tooSlow(ms), String(response.getHeader('X-Request-Id') ?? ''))
  }
  const timer = setTimeout(late, ms).unref()
  awaited.set(request, timer)
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(timer))
}

/** A file takes as long as it takes: then only the next piece of it has to be there in time. */
export const expectMore = (request: IncomingMessage): void => void awaited.get(request)?.refresh()

const tooSlow = (ms: number): Refusal =>
  new Refusal(
    408,
    'timeout',
    `The request did not come in within ${ms} ms`,
    'It is a setting: server.request_timeout_ms',
  )
