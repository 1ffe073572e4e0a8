import type { Measured, Sizes } from '../../src/ports/size-cache.ts'

export function memorySizes(): Sizes {
  const sizes = new Map<string, Measured>()
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
