import { expiryOperations } from './sweep-expiry.ts'
import { sandboxOperations } from './sweep-sandboxes.ts'
import { runOperations } from './sweep-runs.ts'
import { snapshotOperations } from './sweep-snapshots.ts'
import { sourceOperations } from './sweep-sources.ts'
import { lifeOperations, type Swept } from './sweep.ts'

/** Everything that is swept. */
export const operations: Readonly<Record<string, Swept>> = {
  ...lifeOperations,
  ...expiryOperations,
  ...snapshotOperations,
  ...sourceOperations,
  ...sandboxOperations,
  ...runOperations,
}

export const sweptOperation = (name: string): Swept => {
  const found = operations[name]
  if (found === undefined) throw new Error(`No sweep is known for ${name}`)
  return found
}
