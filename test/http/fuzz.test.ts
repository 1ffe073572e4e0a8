import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Manager } from '../../src/ports/manager.ts'
import { memoryCore } from '../../src/testing/memory-core.ts'
import { served } from '../../src/testing/served.ts'
import { fuzz, randomRequests, type Tally } from './fuzz.ts'

const runs = Number(process.env['AW_FUZZ_RUNS'] ?? 25)
const seed = Number(process.env['AW_FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

export async function populate(core: Manager): Promise<void> {
  for (const id of ['a', 'b/x', 'c']) {
    await core.call('create', { id })
    await core.call('fs write', { id, path: 'work/f', content: 'content', parents: true })
    await core.call('snapshot', { id, label: 'good' })
  }
}

test('random requests to every address: none fails for no reason, and what is accepted is in the log', async () => {
  console.log(`AW_FUZZ_SEED=${seed}`)
  const tally: Tally = { sent: 0, accepted: 0, logged: 0, names: new Set() }
  await fc.assert(
    fc.asyncProperty(randomRequests(40), async (requests) => {
      await using core = memoryCore().manager
      await populate(core)
      await using door = await served(core, { over: 'tcp' })
      await fuzz(door, core, requests, tally)
    }),
    { numRuns: runs, seed, endOnFailure: true },
  )
  console.log(
    `${tally.sent} sent, ${tally.accepted} accepted, ${tally.logged} in the log, ${tally.names.size} operations`,
  )
  expect(tally.accepted / tally.sent).toBeGreaterThan(0.3)
  expect(tally.logged).toBeGreaterThan(tally.sent / 20)
})
