import type { Texts } from '../../src/ports/texts.ts'

export function memoryTexts(): Texts {
  const texts = new Map<string, string>()
  return {
    async put(id, text) {
      texts.set(id, text)
    },
    get: async (id) => texts.get(id),
    async remove(id) {
      texts.delete(id)
    },
  }
}
