import { expect, it } from 'vitest'
import { memoryCore } from '../../../test/memory/core.ts'

/** Commands come and go, each with a sandbox of its own: one that somebody has found may end before he asks it. */

function withPassingBoxes() {
  const ended: string[] = []
  const { manager } = memoryCore({
    async onFound(driver, name) {
      await driver.remove(name)
      ended.push(name)
    },
  })
  return { manager, ended }
}

it('a snapshot does not mind a sandbox that ends while it is taken', async () => {
  const { manager, ended } = withPassingBoxes()
  await manager.call('create', { id: 'a' })
  await manager.call('start', { id: 'a' })
  await manager.call('snapshot', { id: 'a', label: 'one' })
  expect(ended).toHaveLength(1)
  expect(await manager.call('snapshots', { id: 'a' })).toMatchObject([{ label: 'one' }])
})

it('nor does who takes a variable away', async () => {
  const { manager, ended } = withPassingBoxes()
  await manager.call('create', { id: 'a' })
  await manager.call('env set', { id: 'a', env: { CI: '1' } })
  await manager.call('start', { id: 'a' })
  expect(await manager.call('env unset', { id: 'a', names: ['CI'] })).toEqual([])
  expect(ended).toHaveLength(1)
})

it('nor who asks whether anything runs', async () => {
  const { manager, ended } = withPassingBoxes()
  await manager.call('create', { id: 'a' })
  await manager.call('start', { id: 'a' })
  expect(await manager.call('destroy', { id: 'a' })).toMatchObject({ removed: true })
  expect(ended.length).toBeGreaterThan(0)
})
