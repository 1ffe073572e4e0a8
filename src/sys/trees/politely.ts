import { AwError } from '../../domain/errors.ts'
import { runPolitely, type Steps } from '../safe-fs/steps.ts'

/** Runs steps while others work too; `aborted` when the signal fires, or has. */
export async function politely<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  const stopped = (cause: unknown): AwError => new AwError('aborted', 'The work on a tree was cancelled', { cause })
  if (signal?.aborted) throw stopped(signal.reason)
  try {
    return await runPolitely(steps, signal)
  } catch (error) {
    throw signal?.aborted && error === signal.reason ? stopped(error) : error
  }
}
