import { expect, it } from 'vitest'
import { memoryCore } from '../../../test/memory/core.ts'
import { ran } from '../../../test/contracts/manager/commands.ts'

it.each([
  [true, ['started', 'frozen']],
  [false, ['frozen', 'started']],
])('nobody freezes the layers of a tree while a sandbox is given them (layers: %s)', async (layered, expected) => {
  const order: string[] = []
  let freezing: Promise<unknown> | undefined
  const { manager } = memoryCore({
    layered,
    onStart: async () => {
      freezing = manager.call('snapshot', { id: 'a' }).then(() => order.push('frozen'))
      for (let turn = 0; turn < 100 && order.length === 0; turn++) await new Promise(setImmediate)
      order.push('started')
    },
  })
  await manager.call('create', { id: 'a' })
  await ran(manager, { id: 'a', argv: ['true'] })
  await freezing
  expect(order).toEqual(expected)
})
