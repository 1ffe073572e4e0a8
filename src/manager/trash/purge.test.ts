import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { memoryCore } from '../../../test/memory/core.ts'

it('erases a tree that nobody can measure, as one whose layers were copied', async () => {
  const onMeasure = () => Promise.reject(new Error('it cannot be mounted'))
  const { manager } = memoryCore({ onMeasure })
  await manager.call('create', { id: 'a' })
  await manager.call('destroy', { id: 'a' })
  expect(await manager.call('purge', { id: 'a' })).toEqual({ purged: true, bytes: 0 })
  expect(await manager.call('list', { state: ['trashed'] })).toEqual([])
})

/** Brings a tree back while purge has the lock: it has been found in the trash by then, and is gone when the lock is free. */
async function undeletedTooLate(choose: (id: string) => { id: string; as?: string }, reset = false): Promise<unknown> {
  const late = Promise.withResolvers<unknown>()
  let isPurging = false
  const core = memoryCore({
    async onMeasure() {
      if (!isPurging) return
      isPurging = false
      core.manager.call('undelete', choose(made.id)).then(late.resolve, late.resolve)
      while (core.machine.waiting() === 0) await setImmediate()
    },
  })
  const made = await core.manager.call('create', { id: 'a' })
  if (reset) await core.manager.call('reset', { id: 'a' })
  await core.manager.call('destroy', { id: 'a' })
  isPurging = true
  expect(await core.manager.call('purge', { id: 'a' })).toMatchObject({ purged: true })
  const told = await late.promise
  expect(await core.manager.call('list', {})).toEqual([])
  return told
}

it('what is erased before undelete has its lock is not there, by name, by id or by the name of a tree', async () => {
  const notThere = { code: 'workspace_not_found' }
  expect(await undeletedTooLate(() => ({ id: 'a' }))).toMatchObject(notThere)
  expect(await undeletedTooLate((id) => ({ id }))).toMatchObject(notThere)
  expect(await undeletedTooLate((id) => ({ id: `${id}.1`, as: 'b' }), true)).toMatchObject(notThere)
})
