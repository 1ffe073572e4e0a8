/** Numbers that come again with the same seed. */
export interface Random {
  /** From 0 to below `limit`. */
  below(limit: number): number
  oneOf<T>(all: readonly T[]): T | undefined
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
  return { below: (limit) => next() % limit, oneOf: (all) => all[next() % Math.max(1, all.length)] }
}
