import { allows } from '../access/principal.ts'
import type { JsonSchema } from '../api/schema.ts'
import type { Scope } from '../domain/tokens/scopes.ts'
import type { JsonLimits } from '../domain/text/strict-json.ts'
import type { RouteAbout } from '../http/routes/openapi-server-routes.ts'
import type { ClosedRoute, ServerRoute } from '../http/routes/server-routes.ts'
import { mcpHttp } from '../mcp/http/http.ts'

const message: JsonSchema = { type: 'object', description: 'JSON-RPC 2.0', additionalProperties: true }
const headers = { 'Mcp-Session-Id': 'Of the session, for versions of the protocol before 2026-07-28' }
const problem = ['There is no such session, or it is not named', { 'application/json': message }] as const
const stream = { 'text/event-stream': { type: 'string' } } as const

const asked: RouteAbout = {
  id: 'mcp_message',
  summary: 'A message of MCP (streamable HTTP); calls of tools are held to the scopes of their operations',
  headers: { ...headers, 'AW-Lease': 'The lease under which its tools write' },
  body: message,
  answers: {
    200: ['The answer, whole or as a stream of messages', { 'application/json': message, ...stream }],
    202: ['Taken; there is nothing to answer'],
    400: problem,
    404: problem,
  },
}
const listened: RouteAbout = {
  id: 'mcp_listen',
  summary: 'Messages of the server in a session of MCP',
  headers,
  answers: { 200: ['As they come', stream], 400: problem, 404: problem },
}
const ended: RouteAbout = {
  id: 'mcp_end',
  summary: 'End a session of MCP',
  headers,
  answers: { 200: ['It has ended'], 400: problem, 404: problem },
}

interface McpRoutes extends AsyncDisposable {
  readonly routes: Readonly<Record<string, ServerRoute>>
  /** Ends what only listens. */
  hush(): void
}

/** MCP as one address of the daemon. A token for one workspace gets the tools of that workspace alone. */
export function mcpRoutes(version: string, json?: JsonLimits): McpRoutes {
  const mcp = mcpHttp({ version, json })
  const route: Pick<ClosedRoute, 'handle'> = {
    async handle({ request, response, caller, manager, context, countOne, held }) {
      const { actor, workspaces, scopes } = caller.principal
      const [only, ...others] = workspaces ?? []
      const workspace = only !== undefined && others.length === 0 && !only.includes('*') ? only : undefined
      const may = (scope: Scope): boolean => allows(caller.principal, scope)
      const rights = JSON.stringify([scopes, workspaces])
      await mcp.handle(request, response, { id: actor, manager, workspace, may, context, rights, countOne, held })
    },
  }
  return {
    routes: {
      'POST /mcp': { ...route, about: asked, holds: 'inFlight' },
      'GET /mcp': { ...route, about: listened, holds: 'streams' },
      'DELETE /mcp': { ...route, about: ended },
    },
    hush: () => mcp.hush(),
    [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose](),
  }
}
