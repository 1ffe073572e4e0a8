import { errnoName } from '../../domain/errno.ts'

/** What the call answers; undefined if it failed in one of these ways. */
export function ignoreErrors<T>(codes: readonly string[], call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    if (hasCode(error, ...codes)) return undefined
    throw error
  }
}

/** Whether a call of the operating system failed in one of these ways: 'ENOENT', 'EEXIST' … */
export const hasCode = (error: unknown, ...codes: string[]): boolean => codes.includes(errnoName(error))
