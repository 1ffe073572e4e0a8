import type { EndingName, Inputs, Outputs } from '../api/table.ts'
import type { CallContext, Manager } from '../ports/manager.ts'

/**
 * The answer of a stream that ends by itself: `await` gives all of it, `for await` gives the items as they come. Nothing
 * is asked before one of the two, and each of them asks anew.
 */
export interface Streamed<T> extends AsyncIterable<T>, PromiseLike<T[]> {}

export function streamed<N extends EndingName>(
  manager: Manager,
  name: N,
  input: Inputs[N],
  context?: CallContext,
): Streamed<Outputs[N]> {
  const open = (): AsyncIterable<Outputs[N]> => manager.stream(name, input, context)
  return {
    [Symbol.asyncIterator]: () => open()[Symbol.asyncIterator](),
    // oxlint-disable-next-line unicorn/no-thenable -- that it can be awaited is what it is for
    then: (onAll, onError) => all(open).then(onAll, onError),
  }
}

async function all<T>(open: () => AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of open()) items.push(item)
  return items
}
