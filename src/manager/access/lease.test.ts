import { expect, it } from 'vitest'
import { makeAw } from '../../client/facade.ts'
import { memoryCore } from '../../../test/memory/core.ts'

/** A core whose time passes only when it is told to. */
function still() {
  let ms = Date.UTC(2026, 0, 1)
  const core = memoryCore({ now: () => new Date(ms) })
  const pass = (seconds: number): void => void (ms += seconds * 1000)
  return { aw: makeAw(core.manager), store: core.store, pass }
}

const force = { holder: 'ann', force: true }

it('force waits until nothing was heard of the holder for a minute', async () => {
  const { aw, pass } = still()
  await aw.create({ id: 'a' })
  const { id: lease } = await aw.lease.acquire('a', { holder: 'ci', ttl_ms: 3_600_000 })
  pass(59)
  await expect(aw.adopt('a', force)).rejects.toMatchObject({
    code: 'workspace_active',
    hint: expect.stringContaining('in 1 s') as unknown,
  })
  await aw.lease.renew('a', { lease, ttl_ms: 3_600_000 })
  pass(59)
  await expect(aw.adopt('a', force)).rejects.toMatchObject({ code: 'workspace_active' })
  pass(1)
  expect(await aw.adopt('a', force)).toMatchObject({ holder: 'ann', adopted_from: 'ci' })
})

it('whoever uses a lease is active', async () => {
  const { aw, pass } = still()
  await aw.create({ id: 'a' })
  const { id: lease } = await aw.lease.acquire('a', { holder: 'ci', ttl_ms: 3_600_000 })
  pass(50)
  await aw.fs.write('a', { path: 'f', content: Buffer.from('x') }, { lease })
  pass(50)
  await aw.label('a', { labels: { by: 'ci' } }, { lease })
  // Nobody uses it by looking.
  pass(50)
  await aw.fs.read('a', { path: 'f' }, { lease })
  await expect(aw.adopt('a', force)).rejects.toMatchObject({
    code: 'workspace_active',
    hint: expect.stringContaining('in 10 s') as unknown,
  })
  pass(10)
  expect(await aw.adopt('a', force)).toMatchObject({ adopted_from: 'ci' })
})

it('a lease that has expired is nobody’s: not to write under, and free to adopt', async () => {
  const { aw, pass } = still()
  await aw.create({ id: 'a' })
  const { id: lease } = await aw.lease.acquire('a', { holder: 'ci', ttl_ms: 10_000 })
  pass(10)
  await expect(aw.label('a', { labels: { by: 'ci' } }, { lease })).rejects.toMatchObject({ code: 'lease_lost' })
  expect((await aw.show('a')).lease).toBeNull()
  expect(await aw.adopt('a', { holder: 'ann' })).toMatchObject({ holder: 'ann', adopted_from: null })
})

it('after a restart everything can be adopted but what its holder has renewed', async () => {
  const { aw, store } = still()
  for (const id of ['gone', 'alive']) await aw.create({ id })
  await aw.lease.acquire('gone', { holder: 'session-1', ttl_ms: 3_600_000 })
  const { id: lease } = await aw.lease.acquire('alive', { holder: 'session-2', ttl_ms: 3_600_000 })
  await store.restLeases()
  await aw.lease.renew('alive', { lease, ttl_ms: 3_600_000 })
  expect(await aw.adopt('gone', force)).toMatchObject({ adopted_from: 'session-1' })
  await expect(aw.adopt('alive', force)).rejects.toMatchObject({ code: 'workspace_active' })
})
