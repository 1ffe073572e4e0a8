import { expect, test } from 'vitest'
import { fuzzRuns, inHome, inMemory } from './fuzz-runs.ts'

/** A sample; `npm run prove` has more. */

test('random requests to every address: none fails for no reason, and what is accepted is in the log', async () => {
  expect(await fuzzRuns(inMemory, 25)).toBeGreaterThan(0.3)
})

test('the same in a home as it is', async () => {
  expect(await fuzzRuns(inHome, 8)).toBeGreaterThan(0.3)
})
