import { spawnSync } from 'node:child_process'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Operation } from '../../src/api/operation.ts'
import { operations } from '../../src/api/table.ts'
import { flagsOf } from '../../src/cli/input/flags.ts'
import { connectAw } from '../../src/client/main.ts'
import { toAwError } from '../../src/domain/errors.ts'
import { openAw } from '../../src/index.ts'
import { errorCode } from '../support/mcp.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { launcher, place, type Place } from '../cli/built-command.ts'
import { startDaemon } from './daemon.ts'

/** What came of a step: its answer, or the code of its error. */
export type Outcome = { readonly ok: unknown } | { readonly code: string }

/** One way to the core, each with a home of its own. */
export interface Door extends AsyncDisposable {
  readonly folder: string
  /** Undefined if this door does not claim the operation. */
  do(name: string, input: Readonly<Record<string, unknown>>): Promise<Outcome | undefined>
}

const entryOf = (name: string): Operation => operations.find((one) => one.name === name) as unknown as Operation

async function through(manager: Manager, name: string, input: object): Promise<Outcome> {
  try {
    if (entryOf(name).form !== 'stream') return { ok: await manager.call(name as never, input as never) }
    const items: unknown[] = []
    for await (const item of manager.stream(name as never, input as never) as AsyncIterable<unknown>) items.push(item)
    return { ok: items }
  } catch (error) {
    return { code: toAwError(error).code }
  }
}

export async function libraryDoor(): Promise<Door> {
  const at = place()
  const aw = await openAw({ home: at.home, env: {} })
  return {
    folder: at.folder,
    do: (name, input) => through(aw.manager, name, input),
    async [Symbol.asyncDispose]() {
      await aw[Symbol.asyncDispose]()
      at[Symbol.dispose]()
    },
  }
}

export async function httpDoor(over: 'socket' | 'tcp'): Promise<Door> {
  const daemon = startDaemon({ listen: '127.0.0.1:0', set: noRates })
  const aw = over === 'socket' ? daemon.aw : connectAw({ url: daemon.url, token: adminToken(daemon.at) })
  return {
    folder: daemon.at.folder,
    do: (name, input) => through(aw.manager, name, input),
    async [Symbol.asyncDispose]() {
      await aw[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
    },
  }
}

const noRates = ['create', 'exec', 'default'].map((kind) => `rate_limit.${kind}_per_minute=0`)

const adminToken = (at: Place): string =>
  (JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'admin').stdout) as { token: string }).token

export async function cliDoor(behind: 'alone' | 'daemon'): Promise<Door> {
  const at = place()
  const daemon = behind === 'daemon' ? startDaemon({ at }) : undefined
  return {
    folder: at.folder,
    async do(name, input) {
      const { args, stdin } = argumentsOf(entryOf(name), input)
      const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, '--json', ...args], {
        env: at.env,
        cwd: at.folder,
        input: stdin,
      })
      const failed = stderr.toString('utf8').trim().split('\n').at(-1) ?? ''
      if (status !== 0 && failed.startsWith('{')) return { code: (JSON.parse(failed) as { code: string }).code }
      const text = stdout.toString('utf8')
      if (entryOf(name).form === 'stream')
        return {
          ok: text
            .trim()
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line) as unknown),
        }
      return { ok: JSON.parse(text) as unknown }
    },
    async [Symbol.asyncDispose]() {
      await daemon?.end()
      at[Symbol.dispose]()
    },
  }
}

function argumentsOf(operation: Operation, input: Readonly<Record<string, unknown>>) {
  const flags = new Map(flagsOf(operation).map((flag) => [flag.field, flag]))
  const args = operation.name.split(' ')
  let stdin: string | Uint8Array = ''
  let command: readonly string[] = []
  for (const [field, value] of Object.entries(input)) {
    const flag = flags.get(field)
    const schema = operation.input.properties?.[field] ?? {}
    if (schema.contentEncoding === 'base64') stdin = value as Uint8Array
    else if (schema['x-cli'] === 'command') command = value as string[]
    else if (value === true) args.push(`--${flag?.name}`)
    else if (Array.isArray(value)) for (const one of value) args.push(`--${flag?.name}`, String(one))
    else if (schema['x-cli'] === 'json') args.push(`--${flag?.name}`, JSON.stringify(value))
    else if (typeof value === 'object' && value !== null && 'folder' in value)
      args.push(`--${flag?.name}`, String(value.folder))
    else if (typeof value === 'object')
      for (const [key, one] of Object.entries(value ?? {})) args.push(`--${flag?.name}`, `${key}=${one}`)
    else args.push(`--${flag?.name}=${JSON.stringify(value).replace(/^"(.*)"$/, '$1')}`)
  }
  return { args: command.length === 0 ? args : [...args, '--', ...command], stdin }
}

/** The tools that stand for an operation, field by field. */
const tools: Readonly<Record<string, string>> = {
  create: 'create_workspace',
  destroy: 'destroy_workspace',
  fork: 'fork_workspace',
  'fs read': 'read_file',
  'fs write': 'write_file',
  'fs list': 'list_files',
  list: 'list_workspaces',
  snapshots: 'list_snapshots',
  diff: 'diff',
  snapshot: 'snapshot',
  restore: 'restore',
}

/** Answers that have another form in the library. */
const asLibrary: Readonly<Record<string, (answer: Readonly<Record<string, unknown>>) => unknown>> = {
  'fs read': ({ content, encoding }) => Buffer.from(String(content), encoding as BufferEncoding),
  'fs list': ({ entries, next_cursor: next }) => ({ entries, next }),
  list: ({ workspaces }) => workspaces,
  snapshots: ({ snapshots }) => (snapshots as unknown[]).toReversed(),
  diff: ({ changes }) => changes,
}

export async function mcpDoor(): Promise<Door> {
  const daemon = startDaemon({ listen: '127.0.0.1:0', set: noRates })
  const client = new Client({ name: 'doors', version: '1' })
  const headers = { authorization: `Bearer ${adminToken(daemon.at)}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${daemon.url}/mcp`), { requestInit: { headers } }))
  const { tools: offered } = await client.listTools()
  return {
    folder: daemon.at.folder,
    async do(name, input) {
      const tool = offered.find((one) => one.name === tools[name])
      const { from, content, ...rest } = input as { from?: string | { folder: string }; content?: Uint8Array }
      const given = {
        ...rest,
        ...(typeof from === 'object' ? { folder: from.folder } : { from }),
        ...(content !== undefined && { content: Buffer.from(content).toString('utf8') }),
      }
      const fields = tool?.inputSchema.properties ?? {}
      // What has no tool, or no such field, is done over the socket, so that the next step finds the same.
      if (
        tool === undefined ||
        Object.entries(given).some(([field, value]) => value !== undefined && !Object.hasOwn(fields, field))
      )
        return void (await through(daemon.aw.manager, name, input))
      const result = await client.callTool({ name: tool.name, arguments: given })
      const code = errorCode(result)
      if (code !== undefined) return { code }
      const answer = result.structuredContent as Record<string, unknown>
      return { ok: asLibrary[name]?.(answer) ?? answer }
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await daemon[Symbol.asyncDispose]()
    },
  }
}
