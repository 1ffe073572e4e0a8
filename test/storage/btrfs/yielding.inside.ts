import * as fs from 'node:fs'
import { expect, it } from 'vitest'
import type { Place } from '../../../src/ports/storage-driver.ts'
import { openBtrfs, snap, volume } from './fixture.ts'

/** How often this process came to do something else while one thing was done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [turns, isOver] = [0, false]
  const turn = (): void => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work().finally(() => (isOver = true))
  return turns
}

it('much that is not on the disk yet keeps nobody else in the process waiting', async () => {
  const { storage, path } = openBtrfs()
  await storage.create(volume)
  await storage.snapshot(volume, snap(0))
  let count = 0
  const write = (): void => {
    count += 1
    for (let n = 0; n < 32; n++) fs.writeFileSync(`${path(volume)}/${n}`, Buffer.alloc(2 ** 20, count * 32 + n))
  }
  let made = 0
  const next = (): Place => snap((made += 1))
  const all: [string, () => Promise<unknown>][] = [
    ['snapshot', () => storage.snapshot(volume, next(), { since: snap(0) })],
    ['restore', () => storage.restore(volume, snap(1), next())],
  ]
  for (const [what, work] of all) {
    let most = 0
    // The kernel may have written it all by itself already, and then there is little to wait for: that is tried
    // again. All in one go it would be a handful each time.
    for (let round = 0; round < 8 && most <= 100; round++) {
      write()
      most = Math.max(most, await turnsDuring(work))
    }
    expect({ what, enough: most > 100 }).toEqual({ what, enough: true })
  }
})
