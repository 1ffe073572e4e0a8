import { expect, test } from 'vitest'
import { fuzzRuns, inHome, inMemory } from '../http/fuzz-runs.ts'

test('many random requests to every address', async () => {
  expect(await fuzzRuns(inMemory, 1_500)).toBeGreaterThan(0.3)
})

test('many in homes as they are', async () => {
  expect(await fuzzRuns(inHome, 100)).toBeGreaterThan(0.3)
})
