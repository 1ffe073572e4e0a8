/** Many clients of one daemon at once. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Manager } from '../../src/ports/manager.ts'
import { checkHome, checkReadModel } from '../crash/check.ts'
import { takesAll } from '../support/random-selection.ts'
import { killableHome, type KillableDaemon } from './killable.ts'
import { asked, checkOrder, checkTold, eventsOf, nothingTold, summary, type Told } from './client-record.ts'

const clients = 64
const seconds = takesAll ? 60 : 8
/** How much more the daemon may take in the last third: what it keeps for each of many thousand requests would show. */
const growthMb = 120

test(`${clients} clients make, fill, keep, read and destroy workspaces for ${seconds} s`, async () => {
  const seed = Number(process.env['AW_SEED'] ?? Math.floor(Math.random() * 1000))
  console.log(`AW_SEED=${seed}`)
  await using home = killableHome()
  const daemon = await home.serve()
  const told = nothingTold()
  const watcher = home.client()
  const over = new AbortController()
  const seen: number[] = []
  const watching = (async () => {
    for await (const { position } of watcher.stream('events', { follow: true }, { signal: over.signal }))
      seen.push(position)
  })()
  const end = performance.now() + seconds * 1000
  watching.catch(() => undefined)
  const [{ first, last }] = await Promise.all([
    measured(daemon, end),
    ...Array.from({ length: clients }, (_, i) => work(home.client(), told, i, seed, () => performance.now() < end)),
  ])
  console.log(`${summary(told)}\nmemory ${first.toFixed(0)} MB at first, ${last.toFixed(0)} MB at last`)
  // Each client has one round at least, most of them with a workspace of their own.
  expect(told.created.size).toBeGreaterThan(clients / 2)
  expect(last - first).toBeLessThan(growthMb)

  const manager = home.client()
  const events = await eventsOf(manager)
  checkOrder(events)
  checkTold(told, events)
  while (seen.length < events.length) await sleep(20)
  over.abort()
  await watching
  expect(seen).toEqual(events.map(({ position }) => position))
  await checkHome(home.home, manager)
  await checkReadModel(manager)
  expect(daemon.log()).not.toContain('"error"')
})

/** The middle of the memory in use in the first and in the last third of the time. */
async function measured(daemon: KillableDaemon, end: number): Promise<{ first: number; last: number }> {
  const found: number[] = []
  for (; performance.now() < end && !daemon.isGone(); await sleep(100)) found.push(daemon.memory())
  const third = Math.floor(found.length / 3)
  const middle = (part: number[]): number => part.toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? Number.NaN
  return { first: middle(found.slice(0, third)), last: middle(found.slice(-third)) }
}

/** One client: mostly with a workspace of its own, now and then with one that seven others want too. */
async function work(manager: Manager, told: Told, me: number, seed: number, goesOn: () => boolean): Promise<void> {
  for (let round = 0; goesOn(); round++) {
    const isShared = (round + me + seed) % 5 === 0
    const id = isShared ? `shared-${me >> 3}/w` : `own-${me}/r${round}`
    const made = await asked(manager, told, 'create', { id })
    if (made !== undefined) told.created.add(made.id)
    const content = randomBytes(100 + ((seed + round) % 20_000))
    if (await asked(manager, told, 'fs write', { id, path: 'work/file', content })) {
      const read = await asked(manager, told, 'fs read', { id, path: 'work/file' })
      if (read !== undefined && !isShared) expect(content.equals(Buffer.from(read as Uint8Array))).toBe(true)
    }
    const snapshot = await asked(manager, told, 'snapshot', { id })
    if (snapshot !== undefined) told.snapshots.add(snapshot.id)
    const gone = await asked(manager, told, 'destroy', { id, purge: round % 2 === 0 })
    if (gone !== undefined && made !== undefined && !isShared) told.destroyed.add(made.id)
  }
}
