import { Readable, type Writable } from 'node:stream'
import { serveStdio as serve, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { Manager } from '../ports/manager.ts'
import { limits } from './limits.ts'
import { escapeInvalidUtf8 } from './escape-invalid-utf8.ts'
import { mcpServer, type McpOptions } from './server.ts'

export interface StdioOptions extends Omit<McpOptions, 'calls'> {
  /** Ends it as the end of the input does. */
  readonly signal: AbortSignal
  readonly input: AsyncIterable<Uint8Array>
  /** Carries JSON-RPC and nothing else. */
  readonly output: Writable
  /** What was wrong with what came, for the log of the client. */
  readonly onError: (message: string) => void
}

/**
 * Serves one client, which speaks on standard input and hears on standard output, until it goes away. Calls that are
 * under way then are cancelled; it resolves when they are undone.
 */
export async function serveStdio(manager: Manager, options: StdioOptions): Promise<void> {
  const { signal, input, output, onError, ...own } = options
  const calls = new Set<Promise<unknown>>()
  const ended = Promise.withResolvers<void>()
  const transport = new StdioServerTransport(Readable.from(escapeInvalidUtf8(input)), output, {
    maxBufferSize: limits.messageBytes,
  })
  const handle = serve(() => mcpServer(manager, { ...own, calls }), {
    transport: reportErrors(transport, ended.resolve),
    onerror: ({ message }) => onError(message),
  })
  const stop = (): void => ended.resolve()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  await ended.promise
  signal.removeEventListener('abort', stop)
  await handle.close()
  await Promise.allSettled(calls)
}

/** The same transport, which also tells us when it is closed: its one listener is the server's. */
function reportErrors(transport: StdioServerTransport, onEnd: () => void): StdioServerTransport {
  const close = transport.close.bind(transport)
  transport.close = async () => {
    await close()
    onEnd()
  }
  return transport
}
