import type { Inputs } from '../../api/table.ts'
import type { CommandInput } from '../../ports/sandbox-driver.ts'
import type { OperationHandler } from '../call.ts'
import { connectOptions } from '../connect.ts'
import { inputsOf, promptForStdin } from './input.ts'
import type { Io } from '../io.ts'
import { bytesOf, jsonLine } from '../sandbox/run-command.ts'

/** `aw fs download`: the bytes are written here as they are read. */
export const downloadHandler: OperationHandler = async (operation, given, globals, io) => {
  const [first] = await inputsOf(operation, given, io)
  await using manager = await io.connect(connectOptions(globals, io))
  const pieces = manager.stream('fs download', first as Inputs['fs download'], { signal: io.signal })
  for await (const piece of pieces) await io.stdout.flow(globals.json ? Buffer.from(jsonLine(piece)) : bytesOf(piece))
  return 0
}

/** Standard input for an operation that takes bytes, no faster than it takes them. */
export async function* stdinBytes(io: Io): AsyncGenerator<CommandInput> {
  await promptForStdin(io)
  for await (const data of io.input()) yield { kind: 'data', data }
}
