import { AwError } from '../../domain/errors.ts'
import { runPolitely, type Steps } from '../safe-fs/coroutine.ts'

export const cancelled = (cause: unknown): AwError =>
  new AwError('aborted', 'The work on a tree was cancelled', { cause })

/** Runs steps while others work too; `aborted` when the signal fires, or has. */
export async function politely<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  if (signal?.aborted) throw cancelled(signal.reason)
  try {
    return await runPolitely(steps, signal)
  } catch (error) {
    throw signal?.aborted && error === signal.reason ? cancelled(error) : error
  }
}
