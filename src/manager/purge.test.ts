import { expect, it } from 'vitest'
import { memoryCore } from '../testing/memory-core.ts'

it('erases a tree that nobody can measure, as one whose layers were copied', async () => {
  const onMeasure = () => Promise.reject(new Error('it cannot be mounted'))
  const { manager } = memoryCore({ onMeasure })
  await manager.call('create', { id: 'a' })
  await manager.call('destroy', { id: 'a' })
  expect(await manager.call('purge', { id: 'a' })).toEqual({ purged: true, bytes: 0 })
  expect(await manager.call('list', { state: ['trashed'] })).toEqual([])
})
