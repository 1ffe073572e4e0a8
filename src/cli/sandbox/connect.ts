import { inputFeed } from '../../client/command-input.ts'
import type { Inputs } from '../../api/table.ts'
import type { OperationHandler } from '../call.ts'
import { connectOptions } from '../connect.ts'
import { inputsOf } from '../input/input.ts'
import { bytesOf, jsonLine } from './run-command.ts'

/** `aw connect`: standard input goes to the port, what it answers to standard output. */
export const connectHandler: OperationHandler = async (operation, given, globals, io) => {
  const [first] = await inputsOf(operation, given, io)
  await using manager = await io.connect(connectOptions(globals, io))
  const lost = new AbortController()
  const feed = inputFeed(io.input(), (error) => lost.abort(error))
  const signal = AbortSignal.any([io.signal, lost.signal])
  try {
    for await (const item of manager.stream('connect', first as Inputs['connect'], { signal, input: feed.items }))
      await io.stdout.flow(globals.json ? Buffer.from(jsonLine(item)) : bytesOf(item))
  } catch (error) {
    if (!io.signal.aborted) throw lost.signal.aborted ? lost.signal.reason : error
  } finally {
    feed.close()
  }
  return io.signal.aborted ? 130 : 0
}
