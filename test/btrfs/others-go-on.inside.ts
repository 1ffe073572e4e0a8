import * as fs from 'node:fs'
import { expect, it } from 'vitest'
import { openBtrfs, snap, volume } from './open.ts'

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
  const all: [string, () => Promise<unknown>][] = [
    ['snapshot', () => storage.snapshot(volume, snap(1), { since: snap(0) })],
    ['restore', () => storage.restore(volume, snap(1), snap(2))],
  ]
  for (const [what, work] of all) {
    write()
    const turns = await turnsDuring(work)
    // All in one go it would be a handful.
    expect({ what, enough: turns > 100 }).toEqual({ what, enough: true })
  }
})
