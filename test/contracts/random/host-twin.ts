import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { openManager } from '../../../src/aw.ts'
import { liveBoth, lives, type Twin } from '../../support/random-operations.ts'
import { makeTree, readTree } from '../../support/tree.ts'
import { memoryTwin, twinSource } from '../../support/memory-twin.ts'

async function hostTwin(): Promise<Twin & { remove: () => Promise<void> }> {
  const base = mkdtempSync(join(tmpdir(), 'aw-random-'))
  const source = join(base, 'source')
  mkdirSync(source)
  makeTree(source, twinSource)
  const manager = await openManager({ home: join(base, 'home'), env: {} })
  return {
    manager,
    source,
    read: (path) => readTree(path, { except: ['.aw'] }),
    remove: async () => {
      await manager[Symbol.asyncDispose]()
      rmSync(base, { recursive: true, force: true })
    },
  }
}

/** So many random lives of so many steps at the most; the seed is printed, and AW_SEED repeats one. Answers the steps taken. */
export async function compareWithMemory(runs: number, maxSteps: number): Promise<number> {
  const seed = Number(process.env['AW_SEED'] ?? Date.now() % 1_000_000)
  console.log(`AW_SEED=${seed}: ${runs} runs of up to ${maxSteps} steps`)
  let steps = 0
  const property = fc.asyncProperty(lives(maxSteps), async (life) => {
    const host = await hostTwin()
    try {
      await liveBoth(memoryTwin(), host, life)
      steps += life.length
    } finally {
      await host.remove()
    }
  })
  await fc.assert(property, { seed, numRuns: runs })
  return steps
}
