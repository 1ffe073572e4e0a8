import { expect, it, vi } from 'vitest'
import type { Manager } from '../../ports/manager.ts'
import { memoryCore } from '../../../test/memory/core.ts'
import { ran, variables } from '../../../test/contracts/manager/commands.ts'

const portOf = async (manager: Manager, id: string): Promise<string | undefined> =>
  variables((await ran(manager, { id, argv: ['env'], snapshot: 'each-exec' })).stdout)['AW_PORT_BASE']

it('what takes long before the first command of a workspace keeps no other workspace waiting', async () => {
  let other: Promise<string | undefined> | undefined
  // The tree of the first is measured before it is kept: then the second begins, and is through.
  const onMeasure = async (): Promise<void> => {
    if (other !== undefined) return
    other = portOf(core.manager, 'second')
    await other
  }
  const core = memoryCore({ set: { 'locks.timeout_ms': '500' }, onMeasure })
  for (const id of ['first', 'second']) await core.manager.call('create', { id })
  const first = await portOf(core.manager, 'first')
  expect(other).toBeDefined()
  expect(await other).toMatch(/^\d+$/)
  expect(first).not.toBe(await other)
})

it('the number of a workspace stays, and is given to another only when it is gone', async () => {
  const { manager } = memoryCore()
  for (const id of ['first', 'second']) await manager.call('create', { id })
  const [first, second] = [await portOf(manager, 'first'), await portOf(manager, 'second')]
  await manager.call('start', { id: 'first' })
  expect(await portOf(manager, 'first')).toBe(first)
  await manager.call('destroy', { id: 'first', force: true })
  await manager.call('create', { id: 'third' })
  expect(await portOf(manager, 'third')).toBe(first)
  await manager.call('undelete', { id: 'first' })
  expect([first, second]).not.toContain(await portOf(manager, 'first'))
})

it('whoever waits for a number gives up only when nobody else is given one', async () => {
  const core = memoryCore({ set: { 'locks.timeout_ms': '10' } })
  for (const id of ['first', 'second']) await core.manager.call('create', { id })
  const list = core.store.list.bind(core.store)
  const looking = vi.spyOn(core.store, 'list')
  const lock = await core.machine.host().lock('slots', { timeoutMs: 0 })
  await expect(portOf(core.manager, 'second')).rejects.toMatchObject({ code: 'workspace_busy' })
  // Each time it looks, another has got one; the last of them gives the lock back.
  let given = 0
  looking.mockImplementation(async (filter) => {
    const found = await list(filter)
    if (given === 3) lock?.[Symbol.dispose]()
    return given++ > 3 ? found : found.map((one) => (one.task === 'first' ? { ...one, slot: given } : one))
  })
  expect(await portOf(core.manager, 'second')).toMatch(/^\d+$/)
  expect(given).toBeGreaterThan(3)
})
