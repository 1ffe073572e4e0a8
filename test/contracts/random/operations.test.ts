import { expect, it } from 'vitest'
import { compareWithMemory } from './host-twin.ts'

it('random operations end in the same state in memory and on disk', async () => {
  expect(await compareWithMemory(40, 30)).toBeGreaterThan(40)
}, 600_000)
