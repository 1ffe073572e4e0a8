import { randomBytes } from 'node:crypto'
import { durableFile, readIfPresent } from '../../../sys/fs/durable-file.ts'

/**
 * The file of a home that ties its storage root to it, a line each: the key that the root's marker holds, `driver` and a
 * name once one was chosen, `made` once the root was made, `leaving` once it is to be given up. Lines are only added, and the first of a kind counts, so that
 * several processes may begin at once and agree.
 */

export interface Claim {
  readonly key: string
  /** Undefined as long as none was chosen. */
  readonly driver: string | undefined
  readonly made: boolean
  /** What was made is being removed, or was until a crash. */
  readonly leaving: boolean
}

/** What the home says, without changing it; undefined if it has claimed nothing yet. */
export function readClaim(file: string): Claim | undefined {
  const lines = (readIfPresent(file) ?? '').split('\n')
  const key = lines.find((line) => /^[0-9a-f]{32}$/.test(line))
  if (key === undefined) return undefined
  const driver = lines.find((line) => line.startsWith(driverPrefix))?.slice(driverPrefix.length)
  const made = lines.includes('made')
  // Roots from before there was a choice.
  return { key, driver: made ? (driver ?? 'dir') : driver, made, leaving: lines.includes('leaving') }
}

export const driverPrefix = 'driver '

/** One may look while another has made the file and not yet written it: the first whole key counts. */
export function claimed(file: string): Claim {
  return readClaim(file) ?? (append(file, randomBytes(16).toString('hex')), claimed(file))
}

/** Answers with the driver that counts: another process may have been first. */
export function claimDriver(file: string, driver: string): string {
  const before = claimed(file)
  if (before.driver !== undefined) return before.driver
  append(file, `${driverPrefix}${driver}`)
  return readClaim(file)?.driver ?? driver
}

export const markClaimMade = (file: string): void => append(file, 'made')

export const markClaimLeaving = (file: string): void => append(file, 'leaving')

/** It is not given up after all. */
export function unmarkClaimLeaving(file: string): void {
  const kept = (readIfPresent(file) ?? '').split('\n').filter((line) => line !== 'leaving')
  const unfinished = `${file}.${process.pid}`
  durableFile.remove(unfinished)
  durableFile.append(unfinished, kept.join('\n'))
  durableFile.rename(unfinished, file)
}

/** Nothing is claimed any more: the next use begins anew, with another key. */
export const dropClaim = (file: string): void => durableFile.remove(file)

/** Behind half a line that a power cut left, on a line of its own. */
function append(file: string, line: string): void {
  const before = readIfPresent(file) ?? ''
  durableFile.append(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${line}\n`)
}
