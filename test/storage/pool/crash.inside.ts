import * as fs from 'node:fs'
import { expect, test } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import { takesAll } from '../../support/random-selection.ts'
import { deinit, poolPlace, small, type PoolPlace } from './fixture.ts'

/** Every fifth step, from one that is drawn anew each time; all of them: `npm run prove`. */
const stride = takesAll ? 1 : 5
const first = 1 + (Number(process.env['AW_SEED'] ?? 0) % stride)

/** Kills a process before its steps in turn, until it gets to the end; tells how many steps there were at the least. */
async function atSteps(
  place: PoolPlace,
  command: readonly string[],
  { prepare, after }: { prepare: () => Promise<unknown>; after: (step: number) => Promise<unknown> },
): Promise<number> {
  for (let step = first; ; step += stride) {
    await prepare()
    const { signal, answer } = place.runWith({ AW_CRASH_AT: `${step}` }, ...command)
    if (signal === null) expect(answer).toHaveProperty('result')
    await after(step)
    if (signal === null) return step
  }
}

function expectNothing({ home, loops, isMounted }: PoolPlace): void {
  const left = fs.readdirSync(home).filter((name) => /pool|storage\.id/.test(name))
  expect({ left, loops: loops(), mounted: isMounted() }).toEqual({ left: [], loops: [], mounted: false })
}

async function expectWorks({ home }: PoolPlace, driver: string): Promise<void> {
  await using manager = await openManager({ home, env: {} })
  const made = await manager.call('create', { id: 'one' })
  expect(made.driver).toBe(driver)
  await manager.call('destroy', { id: made.id, purge: true })
}

/** A sweep starts a process for each step; how long that takes on a busy machine is no matter. */
const timeout = 600_000

const init = ['init', JSON.stringify({ storage: 'btrfs', size: small })]

test(
  'after a crash at any step of making a pool, the same again makes it, and it can be removed',
  { timeout },
  async () => {
    const place = poolPlace()
    const steps = await atSteps(place, init, {
      prepare: async () => expectNothing(place),
      async after(step) {
        // A reboot may come in between.
        if (step % 2 === 0) place.reboot()
        if (step % 3 > 0) {
          expect(await place.init({ storage: 'btrfs', size: small })).toMatchObject({ driver: 'btrfs' })
          expect(place.loops()).toHaveLength(1)
          await expectWorks(place, 'btrfs')
        }
        await deinit(place)
      },
    })
    expect(steps).toBeGreaterThan(20)
    expectNothing(place)
    await expectWorks(place, 'dir')
  },
)

test('after a crash at any step of removing a pool, the same again removes it', { timeout }, async () => {
  const place = poolPlace()
  const steps = await atSteps(place, ['deinit'], {
    prepare: () => place.init({ storage: 'btrfs', size: small }),
    async after(step) {
      if (step % 2 === 0) place.reboot()
      await deinit(place)
      expectNothing(place)
      expect(fs.readdirSync(place.root)).toEqual([])
    },
  })
  expect(steps).toBeGreaterThan(12)
})

test('after a crash at any step of changing the driver, the same again changes it', { timeout }, async () => {
  const place = poolPlace()
  const steps = await atSteps(place, ['init', '{"storage":"dir"}'], {
    prepare: () => place.init({ storage: 'overlay' }),
    async after() {
      expect(await place.init({ storage: 'dir' })).toMatchObject({ driver: 'dir' })
      await deinit(place)
      expectNothing(place)
      expect(fs.readdirSync(place.root)).toEqual([])
    },
  })
  expect(steps).toBeGreaterThan(12)
})
