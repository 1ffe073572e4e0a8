import { expect, it } from 'vitest'
import { memoryCore, type MemoryCore } from '../testing/memory-core.ts'
import { makeMemoryTree } from '../testing/memory-tree.ts'

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
