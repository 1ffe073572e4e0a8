import { expect, it } from 'vitest'
import { toAwError } from '../domain/errors.ts'
import { memoryCore } from '../testing/memory-core.ts'

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
