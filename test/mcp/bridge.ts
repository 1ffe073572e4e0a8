import { readdirSync, readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Bridge } from '../../src/domain/network/bridge.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { place, type Place } from '../cli/built-command.ts'
import { startDaemon } from '../daemon/daemon.ts'

/** A plain client, as anybody inside could write it: what it reads is asked of the tools, and what they say is printed. */
const client = `
json='-H content-type:application/json -H accept:application/json,text/event-stream'
hello='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'
head=$(curl -sS -m 20 -D - -o /tmp/said $json "$@" -d "$hello" "$AW_MCP_URL" | tr -d '\\r')
case "$head" in *' 200 '*) ;; *) echo "$head" | head -n 1; cat /tmp/said; exit;; esac
session=$(echo "$head" | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')
curl -sS -m 60 $json -H "mcp-session-id: $session" "$@" -d @- "$AW_MCP_URL" | sed -n 's/^data: //p'
`

export interface Called {
  readonly text: string
  readonly structured: Readonly<Record<string, unknown>>
  readonly isError: boolean
}

/** A home with a daemon and two workspaces, each with the client in it. */
export interface Ground extends AsyncDisposable {
  readonly at: Place
  /** What is printed by a program in the sandbox of a workspace. */
  readonly inside: (id: string, script: string, input?: string) => Promise<string>
  /** A tool, called by the client in the sandbox that was started. */
  readonly call: (id: string, tool: string, given?: object) => Promise<Called>
  endDaemon(): Promise<void>
  startDaemon(): void
}

export async function ground(user: 'same' | 'ordinary', prepare?: (at: Place) => void): Promise<Ground> {
  const at = place(user)
  prepare?.(at)
  let daemon = startDaemon({ at })
  for (const id of ['one', 'two']) {
    at.aw('create', id)
    at.awWith(client, 'fs', 'write', id, 'work/client.sh')
    at.aw('exec', id, '--', 'git', 'init', '-q')
  }
  // What it asks for may be answered by this process.
  const inside = async (id: string, script: string, input = ''): Promise<string> => {
    const child = at.start('exec', id, '--', 'sh', '-c', script)
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    return (await Promise.all([text(child.stdout), text(child.stderr)])).join('')
  }
  return {
    at,
    inside,
    call: async (id, tool, given = {}) => called(await inside(id, 'sh client.sh', question(tool, given))),
    endDaemon: () => daemon.end(),
    startDaemon: () => void (daemon = startDaemon({ at })),
    async [Symbol.asyncDispose]() {
      await endBoxes(at.home)
      await daemon[Symbol.asyncDispose]()
    },
  }
}

export const question = (tool: string, given: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: given } })

export function called(printed: string): Called {
  const { result } = JSON.parse(printed) as {
    result: { content: { text: string }[]; structuredContent: Record<string, unknown>; isError?: boolean }
  }
  const { content, structuredContent: structured, isError = false } = result
  return { text: content.map((one) => one.text).join(''), structured, isError }
}

/** The tokens that proxies of a home have: only who may look into what they hold open learns them. */
export const tokensOf = (home: string): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => settingsOf(pid)?.bridge ?? [])
    .flatMap(({ directory, token }) => (directory === join(home, 'bridge') ? [token] : []))

/** Of a proxy; undefined of any other process, and of one that has ended meanwhile. */
function settingsOf(pid: string): { bridge?: Bridge } | undefined {
  try {
    const settings = '/proc/self/fd/5'
    if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').endsWith(`${settings}\0`)) return undefined
    if (!statSync(`/proc/${pid}/fd/5`).isFile()) return undefined
    return JSON.parse(readFileSync(`/proc/${pid}/fd/5`, 'utf8')) as { bridge?: Bridge }
  } catch {
    return undefined
  }
}

/** As a proxy would ask, from outside. */
export async function asked(home: string, path: string, token?: string): Promise<[status: number, body: string]> {
  return new Promise((resolve, reject) => {
    const headers = { host: 'aw-mcp', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    const sent = request({ socketPath: join(home, 'bridge', 'mcp.sock'), path, headers }, (answer) => {
      text(answer).then((body) => resolve([answer.statusCode ?? 0, body]), reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}
