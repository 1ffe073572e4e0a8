import { AwError } from '../domain/errors.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { inputFeed } from './command-input.ts'
import { fieldsOf, runningCommand, type CommandExit, type ExecOptions } from './execution.ts'

export interface TerminalOptions extends Omit<ExecOptions, 'stdin'> {
  readonly columns?: number | undefined
  readonly rows?: number | undefined
  /** What runs in it; a shell if left out. */
  readonly argv?: readonly string[] | undefined
}

/** A command with a terminal: what it writes is one stream, and what is written to it are keys. */
export interface Terminal extends AsyncDisposable {
  /** Keys, as they are: `\r` is Enter, `\u0003` is Ctrl-C. Resolves when they are on their way. */
  write(keys: string | Uint8Array): Promise<void>
  resize(columns: number, rows: number): void
  /** As `SIGINT`, to all of its foreground. */
  signal(name: string): void
  /** As of `exec`: to be read once, at the pace of the reader. */
  readonly output: AsyncIterable<Uint8Array>
  readonly exit: Promise<CommandExit>
}

/** Both shells fill it in. One that is given stays; what a shell gives itself does not say where one is. */
const prompted = `case $PS1 in "" | "$ " | "# ") PS1='$AW_WORKSPACE:$PWD\\$ ' ;; esac`

/** The best shell that is there. */
export const shell: readonly string[] = [
  '/bin/sh',
  '-c',
  `test -x /bin/bash && SHELL=/bin/bash || SHELL=/bin/sh; ${prompted}; export SHELL PS1; exec "$SHELL"`,
]

export function openTerminal(
  manager: Manager,
  id: string,
  { columns = 80, rows = 24, argv = shell, ...options }: TerminalOptions,
  context?: CallContext,
): Terminal {
  const stop = new AbortController()
  const feed = inputFeed('open')
  const env = { TERM: 'xterm-256color', ...options.env }
  const input = { id, argv, columns, rows, ...fieldsOf(options), env }
  const { output, end } = runningCommand(manager, input, feed, stop, options, context)
  return {
    write: (keys) =>
      feed
        .push({ kind: 'data', data: typeof keys === 'string' ? new TextEncoder().encode(keys) : keys })
        .catch((cause: unknown) => {
          throw new AwError('invalid_state', 'What ran in the terminal has ended', { cause })
        }),
    resize: (width, height) => void feed.push({ kind: 'resize', columns: width, rows: height }).catch(() => undefined),
    signal: (name) => void feed.push({ kind: 'signal', signal: name }).catch(() => undefined),
    output: { [Symbol.asyncIterator]: () => bytesOf(output) },
    exit: end,
    async [Symbol.asyncDispose]() {
      stop.abort(new AwError('aborted', 'The terminal was closed'))
      await end.catch(() => undefined)
    },
  }
}

async function* bytesOf(output: AsyncIterable<{ readonly data: Uint8Array }>): AsyncGenerator<Uint8Array> {
  for await (const { data } of output) yield data
}
