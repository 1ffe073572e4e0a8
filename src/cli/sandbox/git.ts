import type { BuiltinCommand } from '../builtins.ts'
import { connectOptions } from '../connect.ts'
import { inputsOf } from '../input/input.ts'
import { hasTerminal } from './exec.ts'
import { gitOperation } from './exec-variants.ts'
import { runCommand, withTerminalSize, type ExecInput } from './run-command.ts'

/** `aw git ID status` */
export const gitCommand: BuiltinCommand = async (_args, globals, io, given) => {
  const [first] = await inputsOf(gitOperation(), given, io)
  const { argv = [], ...rest } = first as Partial<ExecInput>
  // The repository in a workspace can make git run programs: it never does so outside of these walls.
  const input: ExecInput = { ...rest, argv: ['git', ...argv], isolation: 'namespace' }
  const tty = hasTerminal(io)
  await using manager = await io.connect(connectOptions(globals, io))
  return await runCommand({ manager, globals, io }, tty ? withTerminalSize(input, io) : input, {
    keys: tty || !io.stdinIsTerminal,
    tty,
  })
}
