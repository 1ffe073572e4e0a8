import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { toAwError } from '../domain/errors.ts'
import { commonHeaders, jsonText } from './answer.ts'
import { itemsOf, type Call } from './call.ts'
import { endResponse } from './limits/linger.ts'
import { abortReason, failureLine, lineWriter, ndjson } from './lines.ts'
import { headerOf } from './guard.ts'
import { problemOf, Refusal } from './refusal.ts'

const eventStream = 'text/event-stream'
const quietMs = 20

export interface StreamLimits {
  /** How long a reader may leave what was sent to it unread. */
  readonly slowReaderMs: number
  /** After so long without anything to tell, a reader is shown that the daemon is still there. */
  readonly heartbeatMs?: number | undefined
}

/** Many items: lines of JSON, or server-sent events for those who ask for them. Nothing is read ahead of the reader. */
export async function sendStream(call: Call, limits: StreamLimits): Promise<void> {
  return sendItems(call, itemsOf(wantsEvents(call) ? { ...call, input: afterLast(call) } : call), limits)
}

/** As `sendStream`, of items that are there. */
export const sendItems = (call: Call, items: AsyncIterable<object>, limits: StreamLimits): Promise<void> =>
  wantsEvents(call) ? sendEvents(call, items, limits) : sendLines(call, items)

const wantsEvents = ({ request }: Call): boolean => (request.headers.accept ?? '').includes(eventStream)

/** The first item decides whether the answer is an error: what is refused at once has its own status. */
async function sendLines(call: Call, items: AsyncIterable<object>): Promise<void> {
  const { response, requestId, operation, stop } = call
  const iterator = items[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<object>> = iterator.next()
  // Whoever follows the log is told that it has begun, though there may be nothing to tell for long.
  const quiet = operation.kind === 'read' ? [sleep(quietMs)] : []
  await Promise.race([next, once(response, 'close'), ...quiet])
  response.writeHead(200, { ...commonHeaders, 'Content-Type': ndjson })
  response.flushHeaders()
  const write = lineWriter(call)
  try {
    for (let item = await next; item.done !== true; item = await next) {
      await write(jsonText(item.value))
      if (response.destroyed) break
      next = iterator.next()
    }
  } catch (error) {
    await write(failureLine(abortReason(error, stop.signal), requestId))
  } finally {
    next.catch(() => undefined)
    await iterator.return?.()
  }
  response.end()
}

async function sendEvents(call: Call, items: AsyncIterable<object>, limits: StreamLimits): Promise<void> {
  const { response, requestId, stop } = call
  const { slowReaderMs, heartbeatMs = 15_000 } = limits
  response.writeHead(200, { ...commonHeaders, 'Content-Type': eventStream, 'X-Accel-Buffering': 'no' })
  response.write(': connected\n\n')
  const heartbeat = setInterval(() => {
    if (response.writableLength === 0) response.write(': \n\n')
  }, heartbeatMs)
  heartbeat.unref()
  let last: unknown
  try {
    for await (const item of items) {
      const { type, position } = item as { type?: unknown; position?: number }
      last = position ?? last
      const id = position === undefined ? '' : `id: ${position}\n`
      const isRead = response.write(`${id}event: ${nameOf(type)}\ndata: ${jsonText(item)}\n\n`)
      if (response.destroyed) break
      if (!isRead && !(await drained(call, slowReaderMs))) {
        // It is in the way of nobody but itself: the log keeps what it has not read.
        response.write(`event: dropped\ndata: ${jsonText({ reason: 'too slow', after: last ?? null })}\n\n`)
        break
      }
    }
    if (stop.signal.aborted && !response.destroyed)
      response.write(`event: closing\ndata: ${jsonText({ after: last ?? null })}\n\n`)
  } catch (error) {
    const problem = problemOf(toAwError(abortReason(error, stop.signal)), requestId)
    response.write(`event: error\ndata: ${jsonText(problem)}\n\n`)
  } finally {
    clearInterval(heartbeat)
  }
  endResponse(response)
}

/** What an item calls itself may come from inside a sandbox: it could end the line and say more. */
const nameOf = (type: unknown): string => (typeof type === 'string' && /^[\w.-]{1,100}$/.test(type) ? type : 'item')

async function drained({ response, stop }: Call, ms: number): Promise<boolean> {
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, stop.signal])
  try {
    const read = once(response, 'drain', { signal }).then(() => true)
    const late = sleep(ms, false, { signal, ref: false })
    return await Promise.race([read, late]).catch(() => true)
  } finally {
    over.abort()
  }
}

/** A reader that comes again says what it has seen. */
function afterLast({ request, operation, input }: Call): Record<string, unknown> {
  const last = operation.name === 'events' ? headerOf(request, 'last-event-id') : undefined
  if (last === undefined) return input
  if (!/^\d{1,15}$/.test(last))
    throw new Refusal(400, 'invalid_input', 'The header Last-Event-ID must be the id of an event of this stream')
  const { from_now: _, tail: __, ...rest } = input
  return { ...rest, after: Number(last) }
}
