import { expect, it } from 'vitest'
import { isRoot } from '../contracts/storage/host.ts'
import { memorySubject } from '../memory/subject.ts'
import { compareStorage } from '../support/random-storage.ts'
import { liveRandomly } from './random-lives.ts'
import { requirements } from './requirements.ts'
import { subjects } from './subjects.ts'

const drivers = [...new Set(requirements.map(({ driver }) => driver))]

it.each(drivers)(
  'random lives of trees are the same in %s and in memory',
  (driver) => {
    expect(liveRandomly(driver, { runs: 30, maxSteps: 40 })).toEqual({ passed: 1, failures: [] })
  },
  600_000,
)

it('random lives of trees are the same in dir, where it is, and in memory', async () => {
  expect(drivers).toHaveLength(isRoot ? Object.keys(subjects).length : 0)
  const limits = { runs: 10, maxSteps: 40 }
  expect(await compareStorage(subjects.dir, async () => memorySubject(), limits)).toBeGreaterThan(100)
}, 600_000)
