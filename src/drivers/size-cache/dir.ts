import { join } from 'node:path'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { Measured, Sizes } from '../../ports/size-cache.ts'
import { memoFile } from '../../sys/fs/cache-file.ts'

/** What took less than this to measure, in milliseconds, is not worth a file: another process measures it itself. */
const worthKeeping = 5

/** In memory, and one small file for each tree that took long to measure. The directory is made for the first of them. */
export function dirSizes({ directory }: { directory: string }): Sizes {
  const near = new Map<WorkspaceId, Measured>()
  const fileOf = (id: WorkspaceId): string => join(directory, `${id}.json`)
  return {
    get: async (id) => near.get(id) ?? parse(memoFile.read(fileOf(id))),
    async put(id, measured) {
      near.set(id, measured)
      if (measured.took >= worthKeeping) memoFile.write(fileOf(id), JSON.stringify(measured))
    },
    async remove(id) {
      near.delete(id)
      memoFile.remove(fileOf(id))
    },
  }
}

/** Whatever is not as it was written is as good as lost. */
function parse(text: string | undefined): Measured | undefined {
  if (text === undefined) return undefined
  try {
    const { generation, bytes, began, written, at, took } = JSON.parse(text) as Measured
    const numbers = [generation, bytes, began ?? 0, written, at, took]
    if (!numbers.every((number) => Number.isFinite(number))) return undefined
    return { generation, bytes, ...(began !== undefined && { began }), written, at, took }
  } catch {
    return undefined
  }
}
