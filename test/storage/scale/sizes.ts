/** How much of everything; `AW_TEST_SIZES` is `SNAPSHOTS,DEPTH,FORKS,PROCESSES`. */
export interface Sizes {
  readonly snapshots: number
  readonly depth: number
  readonly forks: number
  /** So many make the forks, each its share. */
  readonly processes: number
}

export const textOf = ({ snapshots, depth, forks, processes }: Sizes): string =>
  [snapshots, depth, forks, processes].join()

export function sizesFrom(text: string): Sizes {
  const [snapshots = 0, depth = 0, forks = 0, processes = 0] = text.split(',').map(Number)
  return { snapshots, depth, forks, processes }
}
