import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Operation } from '../api/operation.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { commonHeaders, jsonText, sendJson } from './answer.ts'
import type { RequestContext } from './context.ts'
import { abortReason, failureLine, lineWriter, ndjson } from './lines.ts'
import { targetOf } from './routes/routes.ts'
import { untilAborted } from './limits/disconnect.ts'

/** One operation that was asked for, with all that it needs. */
export interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly manager: Manager
  readonly operation: Operation
  readonly input: Record<string, unknown>
  readonly context: RequestContext
  readonly requestId: string
  /** What fires when the caller has left, or the daemon ends. */
  readonly stop: AbortController
  /** What fires when the daemon ends, of what goes on without it. */
  readonly leave?: AbortController | undefined
}

/** What an operation that answers once answers: its status, and the value as JSON. */
export interface Answer {
  readonly status: number
  readonly value: unknown
}

/** Of a stream all its items, for those that come to an end soon. */
export async function callOf(call: Call): Promise<Answer> {
  const { manager, operation, input, context } = call
  if (operation.form === 'stream') return { status: 200, value: await all(itemsOf(call)) }
  const value = await manager.call(operation.name as never, input as never, context)
  return { status: hasCreatedSomething(operation, value) ? 201 : 200, value }
}

function hasCreatedSomething({ makes }: Operation, value: unknown): boolean {
  if (typeof makes !== 'string') return makes === true
  return (value as Record<string, readonly { ok: boolean }[]>)[makes]?.some(({ ok }) => ok) ?? false
}

async function all(items: AsyncIterable<object>): Promise<object[]> {
  const found: object[] = []
  for await (const item of items) found.push(item)
  return found
}

export function itemsOf({ manager, operation, input, context, leave }: Call): AsyncIterable<object> {
  const items = manager.stream(operation.name as never, input as never, context) as AsyncIterable<object>
  return leave === undefined ? items : untilAborted(items, leave.signal)
}

export function sendAnswer(call: Call, { status, value }: Answer): void {
  const { request, response, operation } = call
  const page = pageOf(request, operation, value)
  sendJson(response, status, page.value, page.headers)
}

/**
 * With `Accept: application/x-ndjson` an answer tells how far it has come: lines `{"progress":…}`, and at last one
 * `{"result":…}` or `{"error":…}`.
 */
export async function sendWithProgress(call: Call): Promise<void> {
  const { response, context, requestId, stop } = call
  response.writeHead(200, { ...commonHeaders, 'Content-Type': ndjson })
  response.flushHeaders()
  const write = lineWriter(call)
  let waiting = 0
  const onProgress: CallContext['onProgress'] = (progress) => {
    // The work does not wait for a reader, and what is not read yet is not kept without end.
    if (waiting > maxWaiting) return
    const line = jsonText({ progress })
    waiting += line.length
    void write(line).then(() => (waiting -= line.length))
  }
  try {
    const { value } = await callOf({ ...call, context: { ...context, onProgress } })
    await write(jsonText({ result: value }))
  } catch (error) {
    await write(failureLine(abortReason(error, stop.signal), requestId))
  }
  response.end()
}

/** So much progress may be unread; of what comes then, a reader that is slow misses some. */
const maxWaiting = 1024 * 1024

export const wantsLines = ({ headers }: IncomingMessage): boolean => (headers.accept ?? '').includes(ndjson)

const pageSize = 1000
/** Where the next page of a list begins that has no order of its own to go on by. */
export const cursor = 'cursor'

/** A list comes in pages; `Link` says where the next one is. What has a cursor of its own goes on by that. */
function pageOf(request: IncomingMessage, { input }: Operation, value: unknown) {
  if (!Array.isArray(value)) return { value, headers: {} }
  const { path, query: asked } = targetOf(request.url ?? '/')
  const query = new URLSearchParams(
    [...asked].flatMap(([field, texts]) => texts.map((text): [string, string] => [field, text])),
  )
  const isOrdered = input.properties?.['after'] !== undefined
  const from = isOrdered ? 0 : Number(query.get(cursor) ?? 0)
  const page = value.slice(from, from + pageSize)
  if (from + pageSize >= value.length) return { value: page, headers: {} }
  if (isOrdered) query.set('after', (page.at(-1) as { id: string }).id)
  // What is left of what was asked for: the next page begins a list of its own.
  if (isOrdered && query.has('limit')) query.set('limit', String(Number(query.get('limit')) - pageSize))
  else query.set(cursor, String(from + pageSize))
  return { value: page, headers: { Link: `<${path}?${query.toString()}>; rel="next"` } }
}
