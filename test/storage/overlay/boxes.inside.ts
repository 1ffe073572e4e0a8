import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openAw } from '../../../src/index.ts'
import { mounts } from '../../../src/sys/fs/mounts.ts'
import { collect } from '../../support/collect.ts'
import { endBoxes } from '../../support/end-boxes.ts'

it('the sandbox of one workspace keeps nobody from putting back another', { timeout: 60_000 }, async () => {
  const home = join(mkdtempSync(join(tmpdir(), 'aw-boxes-')), 'home')
  onTestFinished(() => endBoxes(home))
  await using aw = await openAw({ home, env: {}, set: { 'storage.driver': 'overlay' } })
  const { path } = await aw.create({ id: 'a' })
  const file = join(path, 'work/f')
  writeFileSync(file, 'one')
  await aw.snapshot('a', { label: 'one' })
  writeFileSync(file, 'two')
  // They are started in copies of all mounts of the moment.
  const start = async (id: string): Promise<void> => {
    await aw.create({ id })
    await aw.manager.call('start', { id })
  }
  for (const id of ['b', 'c']) await start(id)
  await aw.restore('a', 'one')
  expect(readFileSync(file, 'utf8')).toBe('one')
  await aw.undo('a')
  expect(readFileSync(file, 'utf8')).toBe('two')
  // Of a tree in use the changes would be copied.
  writeFileSync(file, 'three')
  await start('d')
  await aw.snapshot('a')
  const { mechanism } = (await aw.snapshots('a')).at(-1) ?? {}
  expect(mechanism).toBe('overlay freeze')
  // Their own tree they keep.
  await aw.manager.call('fs write', { id: 'b', path: 'work/mine', content: 'b' })
  const [said] = (await collect(aw.manager.stream('exec', { id: 'b', argv: ['cat', 'mine'] }))).filter(
    ({ type }) => type === 'stdout',
  )
  expect(Buffer.from(said?.data ?? '').toString()).toBe('b')
})

it('nor from mounting it again', { timeout: 60_000 }, async () => {
  const home = join(mkdtempSync(join(tmpdir(), 'aw-boxes-')), 'home')
  onTestFinished(() => endBoxes(home))
  await using aw = await openAw({ home, env: {}, set: { 'storage.driver': 'overlay' } })
  for (const id of ['a', 'b']) await aw.create({ id })
  await aw.manager.call('fs write', { id: 'a', path: 'work/f', content: 'one' })
  const { path } = await aw.get('a')
  await aw.manager.call('start', { id: 'b' })
  // As when a sandbox is started after those that there are gave up their copies, and before the tree is taken off.
  mounts.unmount(realpathSync.native(path))
  expect(String(await aw.manager.call('fs read', { id: 'a', path: 'work/f' }))).toBe('one')
  // Its own sandbox has it for good, and what it has is not mounted twice.
  mounts.detach(realpathSync.native((await aw.get('b')).path))
  await expect(aw.manager.call('fs read', { id: 'b', path: 'work/f' })).rejects.toMatchObject({
    code: 'workspace_active',
  })
})

it('a snapshot comes neither between the plan of a sandbox and its start, nor keeps it from being started', async () => {
  const home = join(mkdtempSync(join(tmpdir(), 'aw-boxes-')), 'home')
  onTestFinished(() => endBoxes(home))
  await using aw = await openAw({ home, env: {}, set: { 'storage.driver': 'overlay' } })
  await aw.create({ id: 'a' })
  const append = { id: 'a', argv: ['sh', '-c', 'echo x >> f'], snapshot: 'each-exec' as const }
  const exitCodes = async (runs: number): Promise<unknown[]> => {
    const all = Array.from({ length: runs }, () => collect(aw.manager.stream('exec', append)))
    return (await Promise.all(all)).map((items) => items.at(-1)?.code)
  }
  expect([await exitCodes(1), await exitCodes(1), await exitCodes(4)]).toEqual([[0], [0], [0, 0, 0, 0]])
  expect(String(await aw.manager.call('fs read', { id: 'a', path: 'work/f' }))).toBe('x\n'.repeat(6))
})
