import { expect, it } from 'vitest'
import { compareWithMemory } from '../contracts/random/host-twin.ts'

it('random operations end in the same state in memory and on disk', async () => {
  expect(await compareWithMemory(10_000, 60)).toBeGreaterThan(10_000)
})
