import type { Inputs } from '../../api/table.ts'
import type { OperationHandler } from '../call.ts'
import { connectOptions } from '../connect.ts'
import { inputsOf } from '../input/input.ts'
import { ClosedOutput } from '../io.ts'
import { exitCodeOfSignal } from '../sandbox/exit-code.ts'
import { bytesOf, jsonLine } from '../sandbox/run-command.ts'
import { lostOutputText } from '../sandbox/output-view.ts'

/** `aw logs`: what the run wrote is written here, byte for byte. Ctrl-C stops following; the run goes on. */
export const logsHandler: OperationHandler = async (operation, given, globals, io) => {
  const [first] = await inputsOf(operation, given, io)
  const input = first as Inputs['logs']
  await using manager = await io.connect(connectOptions(globals, io))
  let isSilent = true
  try {
    for await (const item of manager.stream('logs', input, { signal: io.signal })) {
      isSilent = false
      if (globals.json) await io.stdout.flow(Buffer.from(jsonLine(item)))
      else if (item.stream !== 'lost') await io[item.stream].flow(bytesOf(item))
      else await io.stderr.write(lostOutputText(item.lost))
    }
  } catch (error) {
    if (error instanceof ClosedOutput) return exitCodeOfSignal('SIGPIPE')
    if (!io.signal.aborted) throw error
  }
  if (isSilent && io.stderr.isTerminal && !globals.json && !globals.quiet)
    await io.stderr.write(`Nothing was written. How the run is: aw runs ${input.id}\n`)
  return io.signal.aborted ? exitCodeOfSignal('SIGINT') : 0
}
