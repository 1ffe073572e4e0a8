import type { ServerResponse } from 'node:http'
import { parse } from '../api/parse.ts'
import { boolean, integer, list, object, pairs, string, type Infer } from '../api/schema.ts'
import { AwError } from '../domain/errors.ts'
import type { JsonLimits } from '../domain/text/strict-json.ts'
import { commonHeaders } from '../http/answer.ts'
import { jsonBody } from '../http/limits/body.ts'
import { abortReason } from '../http/lines.ts'
import type { AuthenticatedRequest, ServerRoute } from '../http/routes/server-routes.ts'
import { Refusal } from '../http/refusal.ts'
import { onDisconnect } from '../http/limits/disconnect.ts'
import type { CallContext, Manager } from '../ports/manager.ts'

/**
 * A whole command line, run here for `aw-call`, which has no Node to start: what it shows comes back as it is shown, in
 * frames (docs/spec/command-frames.md). The status is sent before anything is done: whoever has not seen it may do the same
 * by other means. What depends on more of the caller than words is refused, and so left to the caller.
 */

const body = object({
  args: list(string('A word of the command line')),
  cwd: string('The working directory'),
  env: pairs('Variables that the command line looks at'),
  stdout: boolean('Whether it is a terminal'),
  stderr: boolean('Whether it is a terminal'),
  columns: integer('Of the terminal'),
  rows: integer('Of the terminal'),
})

type Asked = Infer<typeof body>

/** A command line that was typed elsewhere, with as much of the caller as it needs. */
export interface TypedCommand {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Of the terminal. */
  readonly size: { readonly columns: number; readonly rows: number }
  readonly stdout: TypedOutput
  readonly stderr: TypedOutput
  /** With the rights of the caller. It stays open when the command is over. */
  readonly manager: Manager
  /** Fires when the caller has left. */
  readonly signal: AbortSignal
}

export interface TypedOutput {
  readonly isTerminal: boolean
  /** Rejects once the caller has left. */
  write(chunk: string | Uint8Array): Promise<void>
}

/** The command line, which whoever starts the daemon hands in. */
export interface CommandLine {
  /** Whether it can be run for somebody else: nothing but its words matters, and it brings no settings. */
  serves(args: readonly string[], env: Readonly<Record<string, string>>): boolean
  /** Answers with the exit code. */
  run(command: TypedCommand): Promise<number>
}

interface Options {
  readonly commandLine: CommandLine
  readonly json: JsonLimits
  /** Whether the settings are still those that the daemon was started with. */
  readonly isCurrent: () => boolean
}

export const commandRoute = ({ commandLine, json, isCurrent }: Options): Record<string, ServerRoute> => ({
  'POST /api/daemon/command': {
    about: {
      id: 'daemon_command',
      summary: 'Run a command line and tell what it shows; by the socket of the home alone',
      scope: 'admin',
      body,
      answers: {
        200: ['What it shows, in frames', { 'application/octet-stream': { type: 'string' } }],
        409: ['It is about more than words: nothing was done'],
      },
    },
    undoes: true,
    async handle(by) {
      const asked = parse(body, await jsonBody(by.request, maxBytes, json, by.held))
      // From elsewhere, relative paths and terminals mean nothing.
      const isNear = by.caller.secret === undefined
      if (!isNear || !isCurrent() || !commandLine.serves(asked.args, asked.env)) throw notHere()
      by.response.writeHead(200, { ...commonHeaders, 'Content-Type': 'application/octet-stream' })
      by.response.flushHeaders()
      const code = await commandLine.run(typedCommand(asked, by))
      by.response.end(frame('exit', Buffer.of(code)))
    },
  },
})

const maxBytes = 1024 * 1024

const notHere = (): Refusal =>
  new Refusal(409, 'unsupported', 'This command line is not run by the daemon', 'Run it where it was typed')

const kinds = { exit: 0, stdout: 1, stderr: 2 } as const

/** One byte for what it is, four for its length, and then that. */
function frame(kind: keyof typeof kinds, content: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(kinds[kind], 0)
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}

function typedCommand(
  { args, cwd, env, stdout, stderr, columns, rows }: Asked,
  by: AuthenticatedRequest,
): TypedCommand {
  const left = new AbortController()
  // As Ctrl-C does: what was begun is undone.
  onDisconnect(by.response, () => left.abort(new AwError('aborted', 'The caller has left')))
  const output = (kind: 'stdout' | 'stderr', isTerminal: boolean): TypedOutput => ({
    isTerminal,
    write: (chunk) => sent(by.response, frame(kind, Buffer.from(chunk))),
  })
  return {
    args,
    cwd,
    env,
    size: { columns, rows },
    stdout: output('stdout', stdout),
    stderr: output('stderr', stderr),
    manager: askedBy(by.manager, by.context, by.signal),
    signal: left.signal,
  }
}

/**
 * It stays when the command is over. Nothing that is served is a stream. That the daemon ends is no wish of the caller's:
 * it stops the call, and is told as what it is.
 */
const askedBy = (manager: Manager, by: CallContext, ending: AbortSignal): Manager => ({
  call: (name, input, context) => {
    const signal = AbortSignal.any([ending, ...(context?.signal === undefined ? [] : [context.signal])])
    return manager.call(name, input, { ...by, ...context, signal }).catch((error: unknown) => {
      throw abortReason(error, ending)
    })
  },
  stream: (name, input, context) => manager.stream(name, input, { ...by, ...context }),
  [Symbol.asyncDispose]: async () => undefined,
})

const sent = (response: ServerResponse, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    if (response.destroyed) return reject(new Error('The caller has left'))
    response.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
