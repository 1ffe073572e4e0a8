import type { Inputs, Outputs } from '../api/table.ts'
import type { CallContext, Manager } from '../ports/manager.ts'

export type RestoreOptions = Omit<Inputs['restore'], 'id' | 'snapshot'>

type Whole = Omit<Inputs['restore'], 'id'>

/** `restore('fix-login', 'tests pass', { paths })`, or everything in one object, as other methods have it. */
export interface Restore {
  (id: string, snapshot?: string, options?: RestoreOptions, context?: CallContext): Promise<Outputs['restore']>
  (id: string, input: Whole, context?: CallContext): Promise<Outputs['restore']>
}

export function restoreWith(manager: Manager): Restore {
  return async (
    id: string,
    what?: string | Whole,
    third?: RestoreOptions | CallContext,
    fourth?: CallContext,
  ): Promise<Outputs['restore']> => {
    if (typeof what === 'object') return manager.call('restore', { ...what, id }, third as CallContext)
    const chosen = what === undefined ? {} : { snapshot: what }
    return manager.call('restore', { ...(third as RestoreOptions), ...chosen, id }, fourth)
  }
}
