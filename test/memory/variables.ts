import type { Variable, Variables } from '../../src/ports/variables.ts'

export function memoryVariables(): Variables {
  const kept = new Map<string, Readonly<Record<string, Variable>>>()
  return {
    read: async (id) => kept.get(id) ?? {},
    async write(id, variables) {
      kept.set(id, variables)
    },
  }
}
