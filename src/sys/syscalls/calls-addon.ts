import { join } from 'node:path'
import type { Calls, Processor } from './calls.ts'
import { packageFolder } from '../processes/package-folder.ts'

export const addonName = (processor: Processor): string => `prebuilt/linux-${processor}/aw-calls.node`

/** The package's own addon (native/calls/), which loads in a fraction of a millisecond; throws where it does not load. */
export function addonCalls(processor: Processor): Calls {
  const loaded = { exports: {} }
  process.dlopen(loaded, join(packageFolder(), addonName(processor)))
  return loaded.exports as Calls
}
