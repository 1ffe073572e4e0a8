import { expect, it } from 'vitest'
import { memorySubject } from '../memory/subject.ts'
import { compareStorage } from '../support/random-storage.ts'
import { subjects, type HostDriver } from './subjects.ts'

const driver = process.env['AW_TEST_DRIVER'] as HostDriver
const [runs, maxSteps] = (process.env['AW_TEST_RUNS'] ?? '').split('x').map(Number)

it(`random lives of trees are the same in ${driver} and in memory`, async () => {
  const limits = { runs: runs ?? 0, maxSteps: maxSteps ?? 0 }
  const steps = await compareStorage(subjects[driver], async () => memorySubject(), limits)
  expect(steps).toBeGreaterThan(limits.runs)
}, 3_600_000)
