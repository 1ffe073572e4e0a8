/** How much of everything; `AW_TEST_SIZES` is `SNAPSHOTS,DEPTH,FORKS`. */
export interface Sizes {
  readonly snapshots: number
  readonly depth: number
  readonly forks: number
}

export const textOf = ({ snapshots, depth, forks }: Sizes): string => [snapshots, depth, forks].join()

export function sizesFrom(text: string): Sizes {
  const [snapshots = 0, depth = 0, forks = 0] = text.split(',').map(Number)
  return { snapshots, depth, forks }
}
