import { once } from 'node:events'
import { toAwError } from '../domain/errors.ts'
import { jsonText } from './answer.ts'
import type { Call } from './call.ts'
import { problemOf } from './refusal.ts'

export const ndjson = 'application/x-ndjson'

/** Writes lines, one after the other, no faster than they are read. */
export function lineWriter({ response, stop }: Pick<Call, 'response' | 'stop'>): (line: string) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  const write = async (line: string): Promise<void> => {
    if (response.destroyed || response.write(`${line}\n`)) return
    // A reader that leaves takes nothing more; what it asked for may go on without it.
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, stop.signal])
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).catch(
      () => undefined,
    )
    over.abort()
  }
  return (line) => (last = last.then(() => write(line)))
}

/** The last line of an answer that could not be given whole. No item has this field alone. */
export const failureLine = (error: unknown, requestId: string): string =>
  jsonText({ error: problemOf(toAwError(error), requestId) })

/** What was stopped says no more than that; who stopped it knows why. */
export const abortReason = (error: unknown, { aborted, reason }: AbortSignal): unknown =>
  aborted && toAwError(error).code === 'aborted' ? reason : error
