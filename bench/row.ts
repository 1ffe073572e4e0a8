/** One comparison: ours against what a user would run instead, in the same run. Smaller is better. */
export interface Row {
  readonly name: string
  readonly ours: number
  readonly baseline: number
  readonly ratio: number
  /** The most that the ratio may be; null where nothing was promised. */
  readonly goal: number | null
  readonly unit: string
  readonly note: string
}

export type Verdict = 'met' | 'missed' | '-'

/** Anything that is not a number at or below the goal is missed: a measurement that failed meets nothing. */
export function verdict({ ratio, goal }: Pick<Row, 'ratio' | 'goal'>): Verdict {
  if (goal === null) return '-'
  return ratio <= goal ? 'met' : 'missed'
}

export const row = (
  name: string,
  ours: number,
  baseline: number,
  about: { goal: number | null; unit?: string; note: string },
): Row => ({ name, ours, baseline, ratio: ours / baseline, unit: 'ms', ...about })

/** What takes no time can be done often. A library that stays loaded is warm: as much as it is after a few of each. */
export const often = { rounds: 15, warmUp: 6 }

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** What is timed, and what must be there before. Both get the number of the round. */
export type Contestant = Timed | { readonly before: Timed; readonly timed: Timed }
type Timed = (round: number) => unknown

/**
 * Milliseconds of each, medians. They take turns in an order that changes with each round, so that what disturbs one
 * disturbs the others; the first rounds, in which a program warms up, do not count.
 */
export async function compete<K extends string>(
  rounds: number,
  contestants: Readonly<Record<K, Contestant>>,
  warmUp: number = Math.min(2, rounds),
  /** Just before the clock starts: what one left for the disk to do is not the next one's to wait for. */
  settle: () => void = () => undefined,
): Promise<Record<K, number>> {
  const names = Object.keys(contestants) as K[]
  const times = new Map<K, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round < rounds + warmUp; round++) {
    const order = names.map((_, i) => names[(i + round) % names.length] as K)
    for (const name of round % 2 === 0 ? order : order.toReversed()) {
      const contestant: Contestant = contestants[name]
      const timed = typeof contestant === 'function' ? contestant : contestant.timed
      if (typeof contestant !== 'function') await contestant.before(round)
      settle()
      const start = performance.now()
      await timed(round)
      if (round >= warmUp) times.get(name)?.push(performance.now() - start)
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<K, number>
}
