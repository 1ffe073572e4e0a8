import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect } from 'vitest'
import { openManager } from '../../src/aw.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { memoryCore } from '../memory/core.ts'
import { served } from '../support/http-manager.ts'
import { admin, held } from './ask.ts'
import { fuzz, randomRequests, type Tally } from './fuzz.ts'

/** A core to be asked at random. */
export type Ground = () => Promise<{ readonly core: Manager; readonly remove: () => Promise<void> }>

export const inMemory: Ground = async () => ({ core: memoryCore().manager, remove: async () => undefined })

/** A home as it is. */
export const inHome: Ground = async () => {
  const home = mkdtempSync(join(tmpdir(), 'aw-fuzz-'))
  const core = await openManager({ home, env: {} })
  const remove = async (): Promise<void> => {
    await endBoxes(home)
    rmSync(home, { recursive: true, force: true })
  }
  return { core, remove }
}

async function populate(core: Manager): Promise<void> {
  for (const id of ['a', 'b/x', 'c']) {
    await core.call('create', { id })
    await core.call('fs write', { id, path: 'work/f', content: 'content', parents: true })
    await core.call('snapshot', { id, label: 'good' })
  }
}

/** Prints what to set to see the same again. @returns which part of the requests was accepted */
export async function fuzzRuns(ground: Ground, numRuns: number): Promise<number> {
  const seed = Number(process.env['AW_FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
  console.log(`AW_FUZZ_SEED=${seed}`)
  const tally: Tally = { sent: 0, accepted: 0, logged: 0, names: new Set() }
  await fc.assert(
    fc.asyncProperty(randomRequests(40), async (requests) => {
      const { core, remove } = await ground()
      try {
        await populate(core)
        await using door = await served(core, { over: 'tcp', principals: { admin, session: held('a/main') } })
        await fuzz(door, core, requests, tally)
      } finally {
        await core[Symbol.asyncDispose]()
        await remove()
      }
    }),
    { numRuns, seed, endOnFailure: true },
  )
  const { sent, accepted, logged, names } = tally
  console.log(`${sent} sent, ${accepted} accepted, ${logged} writes in the log, ${names.size} operations`)
  expect(logged).toBeGreaterThan(sent / 20)
  return accepted / sent
}
