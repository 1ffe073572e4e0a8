import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendProblem } from '../answer.ts'
import { Refusal } from '../refusal.ts'

interface Clock {
  start(): void
  stop(): void
}

const clocks = new WeakMap<IncomingMessage, Clock>()

/** All of a request has to be there in time: nobody keeps a connection by sending one byte after another. */
export function startDeadline(request: IncomingMessage, response: ServerResponse, ms: number): void {
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => {
    clearTimeout(timer)
    timer = undefined
  }
  const start = (): void => {
    stop()
    const own = setTimeout(() => {
      // What came while we did something else is read first: then we were late, and not the caller.
      setImmediate(() => {
        if (timer !== own || request.complete) return
        sendProblem(response, tooSlow(ms), String(response.getHeader('X-Request-Id') ?? ''))
      })
    }, ms)
    timer = own.unref()
  }
  start()
  clocks.set(request, { start, stop })
  for (const event of ['end', 'close']) request.once(event, stop)
}

/** A file takes as long as it takes: then only the next piece of it has to be there in time. */
export const restartDeadline = (request: IncomingMessage): void => clocks.get(request)?.start()

/** As long as we are not done with what has come, nothing more is expected. */
export const stopDeadline = (request: IncomingMessage): void => clocks.get(request)?.stop()

const tooSlow = (ms: number): Refusal =>
  new Refusal(
    408,
    'timeout',
    `The request did not come in within ${ms} ms`,
    'It is a setting: server.request_timeout_ms',
  )
