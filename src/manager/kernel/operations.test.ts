import { expect, it, vi } from 'vitest'
import { toAwError } from '../../domain/errors.ts'
import { memoryCore } from '../../../test/memory/core.ts'

it('who waited in vain for a workspace is told how to wait longer', async () => {
  const { manager, machine } = memoryCore({ set: { 'locks.timeout_ms': '1' } })
  const { id } = await manager.call('create', { id: 'a' })
  using _ = await machine.host().lock(id, { timeoutMs: 0 })
  expect(toAwError(await manager.call('snapshot', { id }).catch(toAwError))).toMatchObject({
    code: 'workspace_busy',
    message: 'a/main is busy with another operation',
    hint: expect.stringContaining('--set locks.timeout_ms=') as string,
  })
})

it('who waits for a workspace gives up only when nobody gets anything done on it', async () => {
  const { manager, machine, store } = memoryCore({ set: { 'locks.timeout_ms': '10' } })
  const { id } = await manager.call('create', { id: 'a' })
  const lock = await machine.host().lock(id, { timeoutMs: 0 })
  const get = store.get.bind(store)
  let looks = 0
  // Each time it looks, others have done something; the last of them gives the lock back.
  const looking = vi.spyOn(store, 'get').mockImplementation(async (wanted) => {
    const found = await get(wanted)
    if (++looks === 5) {
      looking.mockRestore()
      lock?.[Symbol.dispose]()
    }
    return found && { ...found, version: found.version + looks }
  })
  expect(await manager.call('snapshot', { id })).toMatchObject({ workspace: 'a/main' })
  expect(looks).toBe(5)
})
