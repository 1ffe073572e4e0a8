import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { drawn, takesAll } from '../support/random-selection.ts'
import { checkHome, checkReadModel } from './check.ts'
import { makeHome } from './home.ts'
import { operations, sweptOperation } from './operations.ts'
import { byRecover, sampled, sweep, type SweepOptions } from './sweep.ts'

/** Up to three processes die while they recover, each at another point, before one comes through. */
const byDyingRecoverers: SweepOptions['recovery'] = async (crash, point, touch) => {
  for (const [round, stride] of [1, 3, 7].entries()) await crash.run('recover', {}, 1 + ((point * stride + round) % 17))
  await byRecover(crash, point, touch)
}

/** Some of them here; all, and at every point, in `npm run prove`. */
const names = Object.keys(operations)
const some = drawn(names, (name) => `${Math.floor(names.indexOf(name) / 9)}`)

it.each(some)(
  'recovery of %s can be killed too, three times over',
  async (operation) => {
    const points = await sweep(operation, sweptOperation(operation), { recovery: byDyingRecoverers, ...sampled(61) })
    expect(points).toBeGreaterThan(0)
  },
  600_000,
)

it('a home can be killed at any point of its first use', async () => {
  const { from, step } = sampled(takesAll ? 1 : 9)
  let point = from
  for (let crashed = true; crashed; point += step) {
    await using crash = await makeHome({ fresh: true })
    const first = await crash.run('create', { id: 'first' }, point)
    crashed = first.crashed
    expect((await crash.run('recover', {})).error).toBeUndefined()
    const again = await crash.run('ensure', { id: 'first' })
    expect(again.result).toMatchObject({ state: 'ready' })
    await checkHome(crash.home, crash.manager)
  }
  console.log(`first use of a home: ${point - 2 * step} points`)
  expect(point).toBeGreaterThan(40)
}, 600_000)

it('a stopped process keeps its operation until it is stolen, and is killed for it', async () => {
  await using crash = await makeHome({ env: { AW_LOCKS_TIMEOUT_MS: '300' } })
  const folder = join(crash.source, 'many')
  mkdirSync(folder)
  for (let i = 0; i < 3000; i++) writeFileSync(join(folder, `${i}`), `${i}`)
  const holder = crash.start('hold', 'held', { folder: crash.source })
  const ended = new Promise((resolve) => holder.once('exit', (_code, signal) => resolve(signal)))
  await expect.poll(() => crash.stateOf(holder.pid), { timeout: 60_000, interval: 5 }).toBe('T')

  const busy = await crash.tell('destroy', { id: 'held' })
  expect(busy.error).toMatchObject({
    code: 'workspace_busy',
    data: { operation: { kind: 'create', owner: { pid: holder.pid } } },
  })
  expect((await crash.tell('show', { id: 'held' })).result).toMatchObject({ state: 'creating' })
  const asked = await crash.tell('recover', {})
  expect(asked.result).toMatchObject({
    recovered: [],
    busy: [{ name: 'held/main', operation: 'create', pid: holder.pid }],
  })
  expect(crash.stateOf(holder.pid)).toBe('T')

  const stolen = await crash.tell('recover', { id: 'held', steal: true })
  expect(stolen.result).toMatchObject({ recovered: [{ operation: 'create', outcome: 'undone' }], busy: [] })
  expect(await ended).toBe('SIGKILL')
  await checkHome(crash.home, crash.manager)
  await checkReadModel(crash.manager)
  expect((await crash.tell('create', { id: 'held' })).result).toMatchObject({ state: 'ready' })
})
