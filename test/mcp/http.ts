import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client'
import { mcpHttp, type McpHttpOptions } from '../../src/mcp/http/http.ts'
import { memoryCore, type MemoryCore } from '../memory/core.ts'
import { connectedTo, type Connected } from '../support/mcp.ts'

export interface HttpScene extends AsyncDisposable {
  readonly url: string
  readonly core: MemoryCore
  readonly mcp: ReturnType<typeof mcpHttp>
  readonly connect: (caller?: Caller, options?: ClientOptions) => Promise<Connected & { session: string | undefined }>
  /** One request by hand. */
  readonly post: (body: unknown, headers?: Record<string, string>) => Promise<Response>
}

interface Caller {
  readonly id?: string
  readonly lease?: () => string | undefined
  readonly workspace?: string
}

/** The handler on a server of Node's own, as a daemon has it: who calls is known before, here by a header. */
export async function httpScene(options: Partial<McpHttpOptions> = {}): Promise<HttpScene> {
  const core = memoryCore()
  const mcp = mcpHttp({ version: '1.2.3', ...options })
  const [failures, requests]: [unknown[], unknown[]] = [[], []]
  const server = createServer((req, res) => {
    const {
      'x-caller': id = 'one',
      'x-workspace': workspace,
      'aw-lease': lease,
    } = req.headers as Record<string, string>
    const context = { correlationId: `cor_${requests.push(req.url)}`, lease }
    const caller = { id, manager: core.manager, context, ...(workspace !== undefined && { workspace }) }
    mcp.handle(req, res, caller).catch((error: unknown) => failures.push(error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const headersOf = ({ id = 'one', workspace }: Caller): Record<string, string> => ({
    'x-caller': id,
    ...(workspace !== undefined && { 'x-workspace': workspace }),
  })
  return {
    url,
    core,
    mcp,
    async connect(caller = {}, clientOptions = {}) {
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: headersOf(caller) },
        fetch(target, init) {
          const headers = new Headers(init?.headers)
          const lease = caller.lease?.()
          if (lease !== undefined) headers.set('aw-lease', lease)
          return fetch(target, { ...init, headers })
        },
      })
      const client = new Client({ name: 'test', version: '1' }, clientOptions)
      const own = await connectedTo(client, (one) => one.connect(transport))
      return { ...own, session: transport.sessionId }
    },
    post: (body, headers = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async [Symbol.asyncDispose]() {
      await mcp[Symbol.asyncDispose]()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      if (failures.length > 0) throw failures[0]
    },
  }
}
