import { join } from 'node:path'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { MeasuredSize, SizeCache } from '../../ports/size-cache.ts'
import { cacheFile } from '../../sys/fs/cache-file.ts'

/** What took less than this to measure, in milliseconds, is not worth a file: another process measures it itself. */
const worthKeeping = 5

/** In memory, and one small file for each tree that took long to measure. The directory is made for the first of them. */
export function dirSizeCache({ directory }: { directory: string }): SizeCache {
  const near = new Map<WorkspaceId, MeasuredSize>()
  const fileOf = (id: WorkspaceId): string => join(directory, `${id}.json`)
  return {
    get: async (id) => near.get(id) ?? parse(cacheFile.read(fileOf(id))),
    async put(id, measured) {
      near.set(id, measured)
      if (measured.took >= worthKeeping) cacheFile.write(fileOf(id), JSON.stringify(measured))
    },
    async remove(id) {
      near.delete(id)
      cacheFile.remove(fileOf(id))
    },
  }
}

/** Whatever is not as it was written is as good as lost. */
function parse(text: string | undefined): MeasuredSize | undefined {
  if (text === undefined) return undefined
  try {
    const { generation, bytes, began, written, at, took } = JSON.parse(text) as MeasuredSize
    const numbers = [generation, bytes, began ?? 0, written, at, took]
    if (!numbers.every((number) => Number.isFinite(number))) return undefined
    return { generation, bytes, ...(began !== undefined && { began }), written, at, took }
  } catch {
    return undefined
  }
}
