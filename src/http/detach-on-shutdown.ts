import { operations } from '../api/table.ts'
import type { Manager } from '../ports/manager.ts'
import { untilAborted } from './limits/disconnect.ts'

const outlivingOperations: readonly string[] = operations.filter((one) => 'outlives' in one).map(({ name }) => name)

/**
 * The same manager, for those who call it in ways of their own: when we leave, what goes on without its caller is let go
 * of, and nothing that happens to the caller afterwards cancels it.
 */
export const detachOnShutdown = (manager: Manager, left: AbortSignal): Manager => ({
  ...manager,
  stream(name, input, context = {}) {
    if (!outlivingOperations.includes(name)) return manager.stream(name, input, context)
    const stop = new AbortController()
    const cancel = (): void => {
      if (!left.aborted) stop.abort(context.signal?.reason)
    }
    if (context.signal?.aborted === true) cancel()
    context.signal?.addEventListener('abort', cancel, { once: true })
    return untilAborted(manager.stream(name, input, { ...context, signal: stop.signal }), left)
  },
})
