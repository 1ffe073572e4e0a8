/** The file dist/mcp.js: what those load who speak MCP, and nobody else. */
export { mcpHttp, type McpCaller, type McpHttp, type McpHttpOptions } from './http/http.ts'
export { serveStdio, type StdioOptions } from './stdio.ts'
