import { withSubvolume } from './kernel/subvolume.ts'
import { isReadOnly } from './kernel/ioctls.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import type { WorkArea } from './work-area.ts'

/**
 * Reads trees that may hold what their owner may not read: in a writable tree it can be allowed for the moment, in a
 * frozen one it cannot. There a writable copy is read instead, if it comes to that; root never needs one.
 */
export async function withReadableTrees<T>(
  work: WorkArea,
  paths: readonly string[],
  read: (paths: readonly string[]) => T | Promise<T>,
): Promise<T> {
  try {
    return await read(paths)
  } catch (error) {
    if (!isForbidden(error)) throw error
  }
  return withWritableCopies(work, paths, read)
}

/** The same for what cannot be begun twice: what is frozen is not read itself. */
export async function withWritableCopies<T>(
  work: WorkArea,
  paths: readonly string[],
  read: (paths: readonly string[]) => T | Promise<T>,
): Promise<T> {
  const thaw = async (left: readonly string[], ready: readonly string[]): Promise<T> => {
    const [next, ...rest] = left
    if (next === undefined) return read(ready)
    if (!withSubvolume(next, isReadOnly)) return thaw(rest, [...ready, next])
    return work.withSnapshot(next, false, (copy) => thaw(rest, [...ready, copy]))
  }
  return thaw(paths, [])
}

const isForbidden = (error: unknown): boolean =>
  hasCode(error, 'EROFS', 'EACCES') || (error instanceof Error && hasCode(error.cause, 'EROFS', 'EACCES'))
