import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport, type CallToolResult } from '@modelcontextprotocol/server'
import type { Manager } from '../../src/ports/manager.ts'
import { mcpServer } from '../../src/mcp/server.ts'

export interface Connected extends AsyncDisposable {
  readonly client: Client
  readonly call: (name: string, given?: Record<string, unknown>) => Promise<CallToolResult>
  /** The answer of a call that succeeds. */
  readonly ask: (name: string, given?: Record<string, unknown>) => Promise<Record<string, never>>
}

/** A client of the official SDK, connected to the tools of a core in the same process. */
export async function connected(manager: Manager, workspace?: string): Promise<Connected> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await mcpServer(manager, { version: '1.2.3', workspace }).connect(ours)
  return connectedTo(new Client({ name: 'test', version: '1' }), (client) => client.connect(theirs))
}

/** A client, however it is connected. */
export async function connectedTo(client: Client, connect: (client: Client) => Promise<void>): Promise<Connected> {
  await connect(client)
  const call: Connected['call'] = async (name, given = {}) => client.callTool({ name, arguments: given })
  return {
    client,
    call,
    async ask(name, given) {
      const { isError, structuredContent, content } = await call(name, given)
      if (isError === true) throw new Error(JSON.stringify(content))
      return structuredContent as Record<string, never>
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** The code of an answer that is an error; it opens the text. */
export function errorCode({ isError, content }: Pick<CallToolResult, 'isError' | 'content'>): string | undefined {
  const [first] = content
  if (isError !== true || first?.type !== 'text') return undefined
  return /^([a-z_]+): /.exec(first.text)?.[1]
}
