import { toAwError } from '../../domain/errors.ts'
import type { Place, Usage, UsageOptions } from '../../ports/storage-driver.ts'
import type { Core, Request } from '../core.ts'
import { checkpointSignal } from '../kernel/operations.ts'

/** Undefined of what is not there, or no more to be looked at. */
export type MeasureTree = (place: Place, options?: UsageOptions) => Promise<Usage | undefined>

/** Files that are looked at in all, and in one tree at the least and at the most; and for how long, if that is bounded. */
export interface Bounds {
  readonly all: number
  readonly oneAtLeast: number
  readonly one: number
  readonly ms?: number
}

export const defaultBounds: Bounds = { all: 400_000, oneAtLeast: 1000, one: 20_000, ms: 5000 }
export const noBounds: Bounds = { all: Infinity, oneAtLeast: Infinity, one: Infinity }
/** For who wants to know something else: a second at the most. */
export const quickBounds: Bounds = { all: 40_000, oneAtLeast: 500, one: 5000, ms: 1000 }
/** For a list, which is there at once however many there are. */
export const listBounds: Bounds = { all: 40_000, oneAtLeast: 500, one: 20_000, ms: 500 }

/**
 * Measures trees, each to a bound, until together they are at one: so it takes seconds at the most, however much there
 * is. Trees of an ordinary size are counted whole, and what they need no share of is left to those after them.
 */
export function boundedMeasure(
  core: Core,
  request: Request,
  trees: number,
  { all, oneAtLeast, one, ms = Infinity }: Bounds,
): MeasureTree {
  let left = all
  let ahead = trees
  const until = core.clock.now().getTime() + ms
  const share = (): number => Math.max(oneAtLeast, Math.floor(left / Math.max(1, ahead--)))
  return async (place, options) => {
    checkpointSignal(request)
    if (left <= 0 || core.clock.now().getTime() > until || !core.storage.capabilities.measures) return undefined
    try {
      const measured = await core.storage.usage(place, { ...options, maxFiles: Math.min(one, left, share()) })
      left -= measured.files
      return measured
    } catch (error) {
      const { code } = toAwError(error)
      if (code === 'workspace_not_found' || code === 'snapshot_not_found') return undefined
      throw error
    }
  }
}
