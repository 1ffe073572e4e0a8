import { AwError } from '../../domain/errors.ts'
import type { Io } from '../io.ts'

/**
 * What Claude Code gives its hooks on standard input, as far as it matters here. It sends more, and newer versions will
 * send other things: nothing else is looked at.
 */
export type Payload =
  | {
      readonly event: 'WorktreeCreate'
      /** Where the session stands. */
      readonly cwd: string
      /** What the work tree is to be called: the word of `--worktree`, or `agent-…` for a subagent. */
      readonly name: string
      readonly session: string
    }
  | {
      readonly event: 'WorktreeRemove'
      /** As it was printed when it was made. */
      readonly path: string
    }

const maxBytes = 1024 * 1024
const timeoutMs = 60_000

export async function readPayload(io: Io): Promise<Payload> {
  if (io.stdinIsTerminal)
    throw wrong('aw hook claude is run by Claude Code, which tells it on standard input what to do', {
      hint: 'Set it up with: aw hook install claude',
    })
  const bytes = await io.stdin(AbortSignal.any([io.signal, AbortSignal.timeout(timeoutMs)]))
  if (bytes.length > maxBytes) throw wrong(`Standard input has more than ${maxBytes} bytes`)
  return payloadOf(parsed(bytes))
}

function parsed(bytes: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw wrong('Standard input is not the JSON object that Claude Code gives to a hook')
}

function payloadOf(fields: Record<string, unknown>): Payload {
  const { hook_event_name: event, name = 'worktree', session_id: session = '' } = fields
  if (event === 'WorktreeRemove') return { event, path: path(fields, 'worktree_path') }
  if (event !== 'WorktreeCreate')
    throw wrong(`aw hook claude knows WorktreeCreate and WorktreeRemove, not ${shown(event)}`, {
      hint: 'Let aw hook install claude write the settings',
    })
  if (typeof name !== 'string' || typeof session !== 'string') throw wrong('name and session_id must be text')
  return { event, cwd: path(fields, 'cwd'), name, session }
}

function path(fields: Record<string, unknown>, field: string): string {
  const value = fields[field]
  if (typeof value === 'string' && value.startsWith('/') && !value.includes('\0')) return value
  throw wrong(`${field} must be an absolute path, not ${shown(value)}`)
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 200)

const wrong = (message: string, { hint }: { hint?: string } = {}): AwError =>
  new AwError('invalid_input', message, hint === undefined ? {} : { hint })
