import { expect, it } from 'vitest'
import { memoryCore, type MemoryCore } from '../../../test/memory/core.ts'
import { makeMemoryTree } from '../../../test/memory/tree.ts'

async function fill({ manager, disk }: MemoryCore, name: string, count: number, last = 1): Promise<void> {
  const { id } = await manager.call('create', { id: name })
  const files = Array.from({ length: count }, (_, i) => ({
    kind: 'file' as const,
    content: 'x'.repeat(i < count - 1 ? 1 : last),
  }))
  makeMemoryTree(disk, `/storage/volumes/${id}`, Object.fromEntries(files.map((file, i) => [`f${i}`, file])))
}

it('counts trees of an ordinary size whole, however many there are, and huge ones in part', async () => {
  const core = memoryCore()
  await fill(core, 'huge', 25_000)
  for (let i = 0; i < 50; i++) await fill(core, `task-${i}`, 3000)
  const { workspaces } = await core.manager.call('usage', {})
  expect(workspaces.filter(({ complete }) => !complete).map(({ name }) => name)).toEqual(['huge/main'])
  const { workspaces: all } = await core.manager.call('usage', { full: true })
  expect(all.every(({ complete }) => complete)).toBe(true)
})

it('a list looks at so many files and no more, so that it is there at once', async () => {
  const core = memoryCore()
  for (let i = 0; i < 100; i++) await fill(core, `task-${i}`, 600)
  const all = await core.manager.call('list', { sizes: true })
  expect(all.filter(({ size_bytes }) => size_bytes === null)).toHaveLength(20)
  expect(all.every(({ size_complete }) => size_complete === false)).toBe(true)
  // Few are counted whole.
  expect(await core.manager.call('list', { sizes: true, task: 'task-7' })).toMatchObject([{ size_complete: true }])
  expect(await core.manager.call('show', { id: 'task-7', sizes: true })).toMatchObject({ size_complete: true })
})

it('puts the one first that is likely to be larger where only a part was counted', async () => {
  const core = memoryCore()
  for (const [name, last] of Object.entries({ a: 10, b: 9000, c: 500 })) {
    await fill(core, name, 21_000, last)
    // It is measured before something is written.
    await core.manager.call('fs write', { id: name, path: 'another', content: 'x' })
  }
  const { workspaces } = await core.manager.call('usage', {})
  expect(workspaces.map(({ name }) => name)).toEqual(['b/main', 'c/main', 'a/main'])
  expect(workspaces.every(({ complete }) => !complete)).toBe(true)
})

it('warns when all of it takes up more than it should, here and in doctor', async () => {
  const quiet = memoryCore({ set: { 'space.warn_total_mb': '2' } })
  await fill(quiet, 'a', 3, 2 ** 20)
  expect((await quiet.manager.call('usage', {})).warnings).toEqual([])
  await fill(quiet, 'b', 3, 2 ** 20)
  await quiet.manager.call('destroy', { id: 'b' })
  const { warnings, totals } = await quiet.manager.call('usage', {})
  expect(totals.all.bytes).toBeGreaterThan(2 * 2 ** 20)
  expect(warnings).toEqual(['all that aw keeps takes up 2 MiB; space.warn_total_mb is 2'])
  const { findings, ok } = await quiet.manager.call('doctor', {})
  expect(findings.filter(({ name, status }) => name === 'space' && status === 'warning')).toMatchObject([
    { message: warnings[0], hint: expect.stringContaining('aw gc') as string },
  ])
  expect(ok).toBe(true)
  // Of some of them alone nothing follows.
  expect((await quiet.manager.call('usage', { ids: ['a'] })).warnings).toEqual([])
})

it('counts what is shared once, and nothing at all if it is not asked to', async () => {
  const core = memoryCore({ set: { 'space.warn_total_mb': '0' } })
  await fill(core, 'a', 3, 3 * 2 ** 20)
  expect((await core.manager.call('usage', {})).warnings).toEqual([])
  await core.manager.call('snapshot', { id: 'a' })
  const one = (await core.manager.call('usage', {})).totals.all.bytes ?? 0
  await core.manager.call('fork', { id: 'a', count: 3 })
  const { totals } = await core.manager.call('usage', {})
  expect(totals.all.bytes).toBeLessThan(one + 2 ** 20)
})
