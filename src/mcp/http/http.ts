import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  createMcpHandler,
  isInitializeRequest,
  isJsonContentType,
  isLegacyRequest,
  type AuthInfo,
  type McpServer,
} from '@modelcontextprotocol/server'
import { toAwError } from '../../domain/errors.ts'
import { defaultJsonLimits, readJson, type JsonLimits } from '../../domain/text/strict-json.ts'
import type { Manager } from '../../ports/manager.ts'
import { limits } from '../limits.ts'
import { mcpServer, type CallerContext } from '../server.ts'
import type { HasScope } from '../tools.ts'
import { bodyOf, send, webRequest } from './node.ts'
import { sessionsWith, type Session, type SessionLimits } from './sessions.ts'

export interface McpHttpOptions {
  readonly version: string
  readonly sessions?: Partial<SessionLimits> | undefined
  /** What a message may hold. */
  readonly json?: JsonLimits | undefined
}

/** Who asks, as found out before: their rights are in the manager that they are given. */
export interface McpCaller {
  /** Sessions are theirs alone. */
  readonly id: string
  readonly manager: Manager
  /** Only this workspace. */
  readonly workspace?: string | undefined
  /** What is offered to them; default: everything. */
  readonly may?: HasScope | undefined
  /**
   * What they may do, in any words: a session has the rights that it was opened with, so it is not found by a caller who
   * has others since.
   */
  readonly rights?: string | undefined
  /** Told of each message of a request but the first. Throws if that is more than they may ask for. */
  readonly countOne?: (() => void) | undefined
  /** Told how many bytes of the request are read into memory. Throws if that is too much. */
  readonly held?: { take(bytes: number): void } | undefined
  /** Of this request, also within a session that an earlier one has opened. */
  readonly context?: CallerContext | undefined
}

export interface McpHttp extends AsyncDisposable {
  /** One request to the endpoint, answered whole. Origin, host and token have been checked, the body is not read. */
  handle(req: IncomingMessage, res: ServerResponse, caller: McpCaller): Promise<void>
  /** Ends what only listens, and would not come to an end by itself; calls go on. */
  hush(): void
  /** Ends the sessions of a caller, as when a token is revoked, and what they do. */
  end(callerId: string): Promise<void>
}

const usual: SessionLimits = { most: 256, mostOfOne: 32, idleMs: 30 * 60 * 1000 }

/**
 * Streamable HTTP. Requests of the protocol of 2026-07-28 stand each for themselves; older clients get a session. A client
 * that goes away in the middle of a call cancels it: answers are not kept for later.
 */
export function mcpHttp({ version, sessions: given, json = defaultJsonLimits }: McpHttpOptions): McpHttp {
  const sessions = sessionsWith({ ...usual, ...given })
  const calls = new Set<Promise<unknown>>()
  const requests = new Set<{ readonly callerId: string; readonly gone: AbortController; listens: boolean }>()
  const serverFor = ({ manager, workspace, may }: McpCaller): McpServer =>
    mcpServer(manager, {
      version,
      workspace,
      may,
      calls,
      contextOf: ({ http }) => callerIn(http?.authInfo)?.context ?? {},
    })
  const modern = createMcpHandler(({ authInfo }) => serverFor(callerIn(authInfo) as McpCaller), {
    legacy: 'reject',
    maxSubscriptions: 64,
  })

  async function answer(request: Request, body: unknown, caller: McpCaller): Promise<Response> {
    const isOld = request.method !== 'POST' || (await isLegacyRequest(request, body))
    if (!isOld) return modern.fetch(request, { parsedBody: body, authInfo: infoOf(caller) })
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = sessions.find(id, caller)
      return session === undefined
        ? problem(404, -32001, 'Session not found')
        : inSession(session, request, body, caller)
    }
    if (request.method !== 'POST' || ![body].flat().some((message) => isInitializeRequest(message)))
      return problem(400, -32000, 'Mcp-Session-Id is missing: initialize comes first')
    const session = await sessions.open(caller, () => serverFor(caller))
    return session === undefined
      ? problem(503, -32000, 'There are too many sessions: end one first')
      : inSession(session, request, body, caller)
  }

  return {
    async handle(req, res, caller) {
      const asked = { callerId: caller.id, gone: new AbortController(), listens: req.method === 'GET' }
      requests.add(asked)
      res.on('close', () => {
        requests.delete(asked)
        if (!res.writableFinished) asked.gone.abort()
      })
      try {
        const request = webRequest(req, asked.gone.signal)
        const body = await checkedBody(req, request, json, caller.held)
        asked.listens ||= (body as Message | undefined)?.method === 'subscriptions/listen'
        if (Array.isArray(body)) body.slice(1).forEach(() => caller.countOne?.())
        await send(body instanceof Response ? body : await answer(request, body, caller), res)
      } catch (error) {
        // Nobody is there to be told.
        if (!asked.gone.signal.aborted) throw error
      }
    },
    hush() {
      for (const { listens, gone } of requests) if (listens) gone.abort()
    },
    async end(callerId) {
      await sessions.end(callerId)
      for (const asked of requests) if (asked.callerId === callerId) asked.gone.abort()
    },
    async [Symbol.asyncDispose]() {
      await modern.close()
      await sessions[Symbol.asyncDispose]()
      await Promise.allSettled(calls)
    },
  }
}

/** The body of a POST, parsed; or what is wrong with it. */
async function checkedBody(
  req: IncomingMessage,
  request: Request,
  json: JsonLimits,
  held: McpCaller['held'],
): Promise<unknown> {
  if (request.method !== 'POST') return undefined
  if (!isJsonContentType(request.headers.get('content-type')))
    return problem(415, -32000, 'The content type must be application/json')
  const bytes = await bodyOf(req, limits.messageBytes, held)
  if (bytes === undefined) return problem(413, -32000, `A message has at most ${limits.messageBytes} bytes`)
  if (!isUtf8(bytes)) return problem(400, -32700, 'Parse error: The body is not UTF-8')
  try {
    const body = readJson(bytes.toString(), json)
    if (!Array.isArray(body) || body.length <= limits.batch) return body
    return problem(400, -32600, `A request has at most ${limits.batch} messages`)
  } catch (error) {
    return problem(400, -32700, `Parse error: ${toAwError(error).message}`)
  }
}

async function inSession(session: Session, request: Request, body: unknown, caller: McpCaller): Promise<Response> {
  const use = session.use()
  const { transport } = session
  try {
    const authInfo = infoOf(caller)
    const response = await transport.handleRequest(request, {
      authInfo,
      ...(body !== undefined && { parsedBody: body }),
    })
    const messages = [body].flat() as readonly Message[]
    // The call that was cancelled is not answered, so its stream would stay open.
    for (const { method, params } of messages.filter((one) => one !== undefined))
      if (method === 'notifications/cancelled' && params?.requestId !== undefined)
        transport.closeSSEStream(params.requestId)
    const leave = (): void => {
      for (const message of messages) if (message?.id !== undefined) cancel(session, message.id)
    }
    request.signal.addEventListener('abort', leave)
    if (request.signal.aborted) leave()
    return withEnd(response, () => use[Symbol.dispose]())
  } catch (error) {
    use[Symbol.dispose]()
    throw error
  }
}

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly requestId?: string | number }
}

/** As if the client had said so. */
const cancel = ({ transport }: Session, requestId: string | number): void =>
  transport.onmessage?.({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId, reason: 'the client has gone' },
  })

/** The same answer; tells when it has been read, or nobody will read it. */
function withEnd(response: Response, onEnd: () => void): Response {
  if (response.body === null) {
    onEnd()
    return response
  }
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
      controller.close()
      onEnd()
    },
    async cancel(reason) {
      onEnd()
      await reader.cancel(reason)
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

/** The way through the SDK from a request to the call that it is. */
const infoOf = (caller: McpCaller): AuthInfo => ({ token: '', clientId: caller.id, scopes: [], extra: { caller } })
const callerIn = (info: AuthInfo | undefined): McpCaller | undefined => info?.extra?.['caller'] as McpCaller | undefined

const problem = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status })
