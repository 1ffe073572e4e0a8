import { AwError } from '../../domain/errors.ts'
import { type Coroutine, runYielding } from '../safe-fs/coroutine.ts'

export const treeWorkCancelled = (cause: unknown): AwError =>
  new AwError('aborted', 'The work on a tree was cancelled', { cause })

/** Runs steps while others work too; `aborted` when the signal fires, or has. */
export async function runCancellable<T>(steps: Coroutine<T>, signal?: AbortSignal): Promise<T> {
  if (signal?.aborted) throw treeWorkCancelled(signal.reason)
  try {
    return await runYielding(steps, signal)
  } catch (error) {
    throw signal?.aborted && error === signal.reason ? treeWorkCancelled(error) : error
  }
}
