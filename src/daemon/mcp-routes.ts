import { allows } from '../access/principal.ts'
import type { Scope } from '../domain/scopes.ts'
import type { OwnRoute } from '../http/own-routes.ts'
import { mcpHttp } from '../mcp/http/http.ts'

/** MCP as one address of the daemon. A token for one workspace gets the tools of that workspace alone. */
export function mcpRoutes(version: string): AsyncDisposable & { readonly routes: Readonly<Record<string, OwnRoute>> } {
  const mcp = mcpHttp({ version })
  const route: OwnRoute = {
    async handle({ request, response, caller, manager, context, countOne }) {
      const { actor, workspaces, scopes } = caller.principal
      const [only, ...others] = workspaces ?? []
      const workspace = only !== undefined && others.length === 0 && !only.includes('*') ? only : undefined
      const may = (scope: Scope): boolean => allows(caller.principal, scope)
      const rights = JSON.stringify([scopes, workspaces])
      await mcp.handle(request, response, { id: actor, manager, workspace, may, context, rights, countOne })
    },
  }
  return {
    routes: { 'POST /mcp': route, 'GET /mcp': route, 'DELETE /mcp': route },
    [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose](),
  }
}
