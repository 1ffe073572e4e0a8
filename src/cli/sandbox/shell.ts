import { shell } from '../../client/terminal.ts'
import { AwError } from '../../domain/errors.ts'
import type { BuiltinCommand } from '../builtins.ts'
import { connectOptions } from '../connect.ts'
import { inputsOf } from '../input/input.ts'
import { hasTerminal } from './exec.ts'
import { runCommand, withTerminalSize, type ExecInput } from './run-command.ts'
import { shellOperation } from './exec-variants.ts'

/** `aw shell ID [-- COMMAND]` */
export const shellCommand: BuiltinCommand = async (_args, globals, io, given) => {
  const [first] = await inputsOf(shellOperation(), given, io)
  const input = first as Partial<ExecInput>
  if (!hasTerminal(io))
    throw new AwError('invalid_input', 'aw shell needs a terminal to show and to type on', {
      hint: `Run a command without one: aw exec ${input.id} -- COMMAND`,
      data: { command: 'shell' },
    })
  const argv = input.argv === undefined || input.argv.length === 0 ? shell : input.argv
  await using manager = await io.connect(connectOptions(globals, io))
  return await runCommand({ manager, globals, io }, withTerminalSize({ ...input, argv }, io), { keys: true, tty: true })
}
