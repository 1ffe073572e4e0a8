import { expect } from 'vitest'
import { cutPower } from './outcome.ts'

/** Only root can mount a disk. */
export const drivers = process.getuid?.() === 0 ? ['btrfs', 'dir', 'overlay'] : []

/** The power fails so often under one load, and everything that a driver acknowledged before is there. */
export function expectNothingLost(driver: string, times: number, seed: number): void {
  console.log(`${driver}: AW_SEED=${seed}, ${times} cuts`)
  const { code, lines, cuts, keepsUnflushed } = cutPower(driver, times, seed)
  const told = (of: keyof (typeof cuts)[number]['counts']): number =>
    cuts.reduce((all, { counts }) => all + counts[of], 0)
  console.log(
    `${lines} lines; looked at ${told('workspaces')} workspaces, ${told('trees')} trees, ${told('snapshots')} snapshots; ` +
      `${told('recovered')} operations were interrupted`,
  )
  expect(code).toBe(0)
  expect(cuts.flatMap(({ problems }) => problems)).toEqual([])
  expect(cuts).toHaveLength(times)
  for (const { counts } of cuts) expect(counts.workspaces).toBeGreaterThan(0)
  expect(keepsUnflushed).toBe(false)
}

export const someSeed = (): number => Number(process.env['AW_SEED'] ?? Date.now() % 1_000_000)
