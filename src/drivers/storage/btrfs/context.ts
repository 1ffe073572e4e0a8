import type { Place } from '../../../ports/storage-driver.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { placeTaken, type TreeRoot } from '../root/tree-root.ts'
import type { WorkArea } from './work-area.ts'

/** What all parts of the driver share. */
export interface Context {
  readonly root: string
  /** Whom new trees belong to, if not whoever runs this. */
  readonly owner: number | undefined
  readonly trees: TreeRoot
  readonly work: WorkArea
}

export async function unlessTaken<T>(place: Place, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    throw hasCode(error, 'EEXIST') ? placeTaken(place) : error
  }
}
