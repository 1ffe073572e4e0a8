import type { ServerResponse } from 'node:http'
import { parse } from '../api/parse.ts'
import { boolean, integer, list, object, pairs, string, type Infer } from '../api/schema.ts'
import { operations } from '../api/table.ts'
import { bringsSettings, underLease } from '../cli/connect.ts'
import { ClosedOutput, type Io, type Output } from '../cli/io.ts'
import { run } from '../cli/run.ts'
import { isServed } from '../cli/served.ts'
import { AwError } from '../domain/errors.ts'
import type { JsonLimits } from '../domain/text/strict-json.ts'
import { always } from '../http/answer.ts'
import { jsonBody } from '../http/limits/body.ts'
import { whyEnded } from '../http/lines.ts'
import type { AskedBy, OwnRoute } from '../http/routes/own-routes.ts'
import { Refusal } from '../http/refusal.ts'
import { whenLeft } from '../http/limits/until-left.ts'
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

interface Options {
  readonly json: JsonLimits
  /** Whether the settings are still those that the daemon was started with. */
  readonly isCurrent: () => boolean
}

export const commandRoute = ({ json, isCurrent }: Options): Record<string, OwnRoute> => ({
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
      const asked = parse(body, await jsonBody(by.request, mostBytes, json, by.held))
      // From elsewhere, relative paths and terminals mean nothing.
      const isNear = by.caller.secret === undefined
      if (!isNear || !isCurrent() || !isServed(asked.args) || bringsSettings(asked.env)) throw notHere()
      by.response.writeHead(200, { ...always, 'Content-Type': 'application/octet-stream' })
      by.response.flushHeaders()
      const code = await run(asked.args, ioFor(asked, by))
      by.response.end(frame('exit', Buffer.of(code)))
    },
  },
})

const mostBytes = 1024 * 1024

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

function ioFor({ cwd, env, stdout, stderr, columns, rows }: Asked, by: AskedBy): Io {
  const { response, manager, context } = by
  const left = new AbortController()
  // As Ctrl-C does: what was begun is undone.
  whenLeft(response, () => left.abort(new AwError('aborted', 'The caller has left')))
  const output = (kind: 'stdout' | 'stderr', isTerminal: boolean): Output => {
    const write = (chunk: string | Uint8Array): Promise<void> => sent(response, frame(kind, Buffer.from(chunk)))
    return { isTerminal, columns, write, flow: write }
  }
  return {
    stdout: output('stdout', stdout),
    stderr: output('stderr', stderr),
    stdin: () => Promise.reject(notHere()),
    input: () => {
      throw notHere()
    },
    stdinIsTerminal: false,
    terminal: { size: () => ({ columns, rows }), raw: () => Promise.reject(notHere()) },
    env,
    cwd,
    now: () => Date.now(),
    signal: left.signal,
    takeSignals: () => ({ [Symbol.dispose]: () => undefined }),
    connect: async ({ lease }) => {
      const own = askedBy(manager, context, by.signal)
      return lease === undefined ? own : underLease(own, lease)
    },
    table: operations,
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
      throw whyEnded(error, ending)
    })
  },
  stream: (name, input, context) => manager.stream(name, input, { ...by, ...context }),
  [Symbol.asyncDispose]: async () => undefined,
})

const sent = (response: ServerResponse, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    if (response.destroyed) return reject(new ClosedOutput('The caller has left'))
    response.write(bytes, (error) => (error ? reject(new ClosedOutput(error.message, { cause: error })) : resolve()))
  })
