import type { MeasuredSize, SizeCache } from '../../src/ports/size-cache.ts'

export function memorySizeCache(): SizeCache {
  const sizes = new Map<string, MeasuredSize>()
  return {
    get: async (id) => sizes.get(id),
    async put(id, measured) {
      sizes.set(id, measured)
    },
    async remove(id) {
      sizes.delete(id)
    },
  }
}
