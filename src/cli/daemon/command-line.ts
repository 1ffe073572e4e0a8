import { operations } from '../../api/table.ts'
import type { CommandLine, TypedCommand, TypedOutput } from '../../daemon/main.ts'
import { AwError } from '../../domain/errors.ts'
import { hasSettingVariables, withLease } from '../connect.ts'
import { ClosedOutput, type Io, type Output } from '../io.ts'
import type { Run } from '../run.ts'
import { canRunInDaemon } from '../runs-in-daemon.ts'

/** The command line as a daemon runs it for `aw-call`: words go in, and what they show comes out. */
export const commandLine = (run: Run): CommandLine => ({
  serves: (args, env) => canRunInDaemon(args) && !hasSettingVariables(env),
  run: (command) => run(command.args, ioOf(command)),
})

function ioOf({ cwd, env, size, stdout, stderr, manager, signal }: TypedCommand): Io {
  return {
    stdout: outputOf(stdout, size.columns),
    stderr: outputOf(stderr, size.columns),
    stdin: () => Promise.reject(notHere()),
    input: () => {
      throw notHere()
    },
    stdinIsTerminal: false,
    terminal: { size: () => size, raw: () => Promise.reject(notHere()) },
    env,
    cwd,
    now: () => Date.now(),
    signal,
    takeSignals: () => ({ [Symbol.dispose]: () => undefined }),
    connect: async ({ lease }) => (lease === undefined ? manager : withLease(manager, lease)),
    table: operations,
  }
}

function outputOf(output: TypedOutput, columns: number): Output {
  const written: Output['write'] = (chunk) =>
    output.write(chunk).catch((cause: unknown) => {
      throw new ClosedOutput('The caller has left', { cause })
    })
  return { isTerminal: output.isTerminal, columns, write: written, flow: written }
}

/** Nothing that is served asks for more of the caller than words. */
const notHere = (): AwError =>
  new AwError('unsupported', 'This command line is not run by the daemon', { hint: 'Run it where it was typed' })
