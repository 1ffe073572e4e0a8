import { AwError } from '../../domain/errors.ts'
import type { OperationHandler } from '../call.ts'
import type { Arguments } from '../input/arguments.ts'
import { connectOptions } from '../connect.ts'
import { inputsOf } from '../input/input.ts'
import type { Io } from '../io.ts'
import { execAll } from './exec-all.ts'
import { runCommand, withTerminalSize, type ExecInput } from './run-command.ts'

/** `aw exec`: what the command writes is written here, byte for byte, and its end is ours. */
export const execHandler: OperationHandler = async (operation, given, globals, io) => {
  const { rest, interactive, tty } = commandOptions(given)
  const [first] = await inputsOf(operation, rest, io)
  const input = first as ExecInput
  if (input.all !== undefined && (interactive === true || tty)) throw notShared()
  await using manager = await io.connect(connectOptions(globals, io))
  if (input.all !== undefined) return await execAll({ manager, globals, io }, input)
  const keys = interactive ?? (tty || !io.stdinIsTerminal)
  return await runCommand({ manager, globals, io }, tty ? withTerminalSize(input, io) : input, { keys, tty })
}

/** The flags that the operation knows nothing of. */
function commandOptions(given: Arguments): { rest: Arguments; interactive: boolean | undefined; tty: boolean } {
  const fields = new Map(given.fields)
  const [interactive, tty] = ['interactive', 'tty'].map((name) => fields.get(name)?.[0])
  for (const name of ['interactive', 'tty']) fields.delete(name)
  return {
    rest: { ...given, fields },
    interactive: interactive === undefined ? undefined : interactive === 'true',
    tty: tty === 'true',
  }
}

const notShared = (): AwError =>
  new AwError('invalid_input', 'Several commands cannot share one input or terminal', {
    hint: 'Name one workspace instead of --all, or leave out -i and -t',
    data: { field: 'all' },
  })

/** Whether people see and type what goes through. */
export const hasTerminal = (io: Io): boolean => io.stdinIsTerminal && io.stdout.isTerminal
