import { createInterface } from 'node:readline'
import { Client, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as FirstSdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as FirstSdkTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { connectedTo, type Connected } from '../support/mcp.ts'
import { launcher, type Place } from '../cli/built-command.ts'

/** A client of the official SDK that has started the real `aw mcp`. */
export async function stdioClient(
  here: Place,
  args: readonly string[] = [],
  options: ClientOptions = {},
): Promise<Connected> {
  const transport = new StdioClientTransport(program(here, args))
  return connectedTo(new Client({ name: 'test', version: '1' }, options), (client) => client.connect(transport))
}

/** The same with the SDK's 1.x line, which most clients are still built on. */
export async function firstSdkClient(here: Place): Promise<FirstSdkClient & AsyncDisposable> {
  const client = new FirstSdkClient({ name: 'test', version: '1' })
  await client.connect(new FirstSdkTransport(program(here)))
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const program = (here: Place, args: readonly string[] = []) => ({
  command: process.execPath,
  args: [launcher, 'mcp', ...args],
  env: here.env,
  cwd: here.folder,
  stderr: 'pipe' as const,
})

export interface Wire extends Disposable {
  /** A message, or a line or bytes that are none. */
  say(line: unknown): void
  /** The next message that it says. */
  hear(): Promise<Record<string, unknown>>
  /** Nothing more comes from us. */
  end(): void
  /** What it said to people, and its exit code. */
  readonly over: Promise<{ code: number | null; stderr: string }>
}

/** The program itself, line by line: for what no client would say. */
export function wire(here: Place, ...args: readonly string[]): Wire {
  const child = here.start('mcp', ...args)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let stderr = ''
  child.stderr.on('data', (data: Buffer) => void (stderr += data.toString()))
  child.stdin.on('error', () => undefined)
  return {
    say(line) {
      const isReady = typeof line === 'string' || line instanceof Uint8Array
      child.stdin.write(isReady ? line : JSON.stringify(line))
      child.stdin.write('\n')
    },
    async hear() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`It has ended: ${stderr}`)
      return JSON.parse(value) as Record<string, unknown>
    },
    end: () => void child.stdin.end(),
    over: new Promise((resolve) => child.on('close', (code) => resolve({ code, stderr }))),
    [Symbol.dispose]: () => void child.kill(),
  }
}

export const initialize = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'wire', version: '1' } },
})

export const toolCall = (id: number, name: string, given: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given },
})
