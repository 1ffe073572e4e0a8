import type { Settings } from '../config/config.ts'
import { AwError } from '../errors.ts'

/** How full the storage may be, in percent: above `high` room is made until it is below `low`. */
export interface Watermarks {
  readonly high: number
  readonly low: number
}

export interface Space {
  /** Bytes that can still be written. */
  readonly free: number
  /** Those, and what is taken. */
  readonly total: number
}

/** Null if they are switched off. */
export function watermarksOf(settings: Settings): Watermarks | null {
  const high = settings['space.high_percent']
  const low = settings['space.low_percent'] || Math.max(0, high - 10)
  if (high === 0) return null
  if (high < 100 && low < high) return { high, low }
  throw new AwError('invalid_config', `space.high_percent is ${high} and space.low_percent is ${low}`, {
    hint: 'Both are below 100, and low is below high: 90 and 80, for instance',
    data: { key: high < 100 ? 'space.low_percent' : 'space.high_percent' },
  })
}

export const usedPercent = ({ free, total }: Space): number => (total <= 0 ? 0 : 100 - (100 * free) / total)

/** Bytes that must become free before the storage is no fuller than so many percent. */
export const bytesAbove = ({ free, total }: Space, percent: number): number =>
  Math.ceil(total - free - (total * percent) / 100)

/** So many percent before the high mark it is time to say something. */
const notice = 5

/** What a person should know before things go that could have stayed; undefined as long as there is no need. */
export function spaceWarning(space: Space, marks: Watermarks | null): string | undefined {
  if (marks === null) return undefined
  const used = usedPercent(space)
  if (used <= marks.high - notice) return undefined
  const rule = `space.high_percent is ${marks.high}`
  const full = `The storage is ${Math.floor(used)}% full`
  return used <= marks.high
    ? `${full} (${rule}): soon aw gc empties the trash early, and moves workspaces there that were not used for long`
    : `${full} (${rule}): aw gc makes room until it is ${marks.low}% full; what was used in the last hour stays`
}
