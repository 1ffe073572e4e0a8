import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { parse } from '../api/parse.ts'
import { toAwError, type AwError } from '../domain/errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { progressReporter } from './progress.ts'
import { publicSchema } from './schema.ts'
import type { Answer, Tool } from './tool.ts'
import { toolsFor, type HasScope } from './tools.ts'

export interface McpOptions {
  /** Serve this workspace alone: the tools take no id, and none is about others. */
  readonly workspace?: string | undefined
  readonly version: string
  /** Default: everything. */
  readonly may?: HasScope | undefined
  /** Under which lease, and for which request, a call is done. */
  readonly contextOf?: ((asked: ServerContext) => CallerContext) | undefined
  /** Where calls are noted from their beginning to their end; that of a cancelled one comes when it is undone. */
  readonly calls?: Set<Promise<unknown>> | undefined
}

export type CallerContext = Pick<CallContext, 'actor' | 'correlationId' | 'causationId' | 'lease'>

/** The tools of `aw` over a core, ready to be connected to a transport. What may be done is the manager's to say. */
export function mcpServer(manager: Manager, options: McpOptions): McpServer {
  const { workspace, version, may, contextOf = () => ({}), calls = new Set() } = options
  const tools = toolsFor(workspace, may)
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const about = { name: 'aw', title: 'Agent workspaces', version }
  const served = new McpServer(about, {
    capabilities: { tools: { listChanged: false } },
    instructions: instructionsFor(workspace),
  })

  served.server.setRequestHandler('tools/list', () => ({ tools: tools.map(described) }))
  served.server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = byName.get(params.name)
    if (tool === undefined) throw unknownTool(params.name, [...byName.keys()])
    const call = answerOf(manager, tool, params.arguments ?? {}, context, contextOf(context))
    calls.add(call)
    try {
      return await call
    } finally {
      calls.delete(call)
    }
  })
  return served
}

/** Our errors are results: the agent is to read them. */
async function answerOf(
  manager: Manager,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  context: ServerContext,
  asked: CallerContext,
): Promise<CallToolResult> {
  using teller = progressReporter((progress) => tell(context, progress))
  const { onProgress, onOutput } = teller
  try {
    const input = parse(tool.input, given) as never
    const call = { ...asked, signal: context.mcpReq.signal, onProgress }
    return success(await tool.call(manager, input, { call, onOutput }))
  } catch (error) {
    return failure(toAwError(error))
  }
}

const success = ({ structured, text }: Answer): CallToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent: { ...structured },
})

/** As text alone: structured content has to be of the tool's output schema, and clients of the 1.x SDK insist on it. */
function failure(error: AwError): CallToolResult {
  const { code, message, hint } = error.toJSON()
  const text = hint === null || hint === '' ? `${code}: ${message}` : `${code}: ${message}\n${hint}`
  return { content: [{ type: 'text', text }], isError: true }
}

/** Only to those who asked for it. Whoever does not listen any more misses nothing. */
function tell({ mcpReq }: ServerContext, progress: { progress: number; message: string }): void {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return
  mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }).catch(() => undefined)
}

const described = ({ name, title, description, input, output, annotations }: Tool) => ({
  name,
  title,
  description,
  inputSchema: publicSchema(input) as { type: 'object' },
  outputSchema: output as { type: 'object' },
  annotations: { title, ...annotations },
})

function unknownTool(name: string, known: readonly string[]): ProtocolError {
  const close = nearest(name, known)
  const hint = close === undefined ? `Known are: ${known.join(', ')}` : `Did you mean ${close}?`
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no tool ${JSON.stringify(name.slice(0, 60))}. ${hint}`,
  )
}

const instructionsFor = (workspace: string | undefined): string =>
  workspace === undefined
    ? 'Workspaces of aw: a directory of its own for each piece of work, made in milliseconds, with snapshots, forks and ' +
      'undo. Make one with create_workspace, work in it with exec, read_file and write_file, keep good states with ' +
      'snapshot, go back with restore, try ideas side by side with fork_workspace, and see what was done with diff.'
    : 'The tools of the aw workspace that you work in: run commands behind its walls with exec, keep good states with ' +
      'snapshot, go back with restore, and see what was done with diff.'
