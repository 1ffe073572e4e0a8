import { expect, it } from 'vitest'
import { liveRandomly } from '../storage/random-lives.ts'
import type { HostDriver } from '../storage/subjects.ts'

const drivers: readonly HostDriver[] = ['dir', 'btrfs', 'overlay']

it.each(drivers)('random lives of trees are the same in %s and in memory', (driver) => {
  expect(liveRandomly(driver, { runs: 3_000, maxSteps: 80 })).toEqual({ passed: 1, failures: [] })
})
