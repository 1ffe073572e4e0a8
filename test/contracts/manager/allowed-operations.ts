import { expect, it } from 'vitest'
import type { Inputs } from '../../../src/api/table.ts'
import { collect } from '../../support/collect.ts'
import { code, type OpenManager } from '../manager.ts'
import { eventsOf, ran } from './commands.ts'

/** What `allowed_operations` of a workspace leave out. */
export function allowedContract(open: OpenManager): void {
  it('a workspace may forbid what is done to its files', async () => {
    const { aw } = await open()
    await aw.create({ id: 'f', config: { allowed_operations: ['read'] } })
    await expect(aw.fs.write('f', { path: 'a', content: '' })).rejects.toEqual(code('permission_denied'))
    const { files } = await aw.get('f')
    await expect(files.upload('a', '')).rejects.toEqual(code('permission_denied'))
    expect((await aw.fs.list('f')).entries.length).toBeGreaterThan(0)
  })

  it('nothing is run in a workspace that was made without execute, nor in what is made from it', async () => {
    const { aw, manager } = await open()
    const config = { allowed_operations: ['read', 'write'] }
    await aw.create({ id: 'still', config })
    const before = await eventsOf(manager, 'still')
    const refused = code('permission_denied', { operation: 'execute' })
    await expect(ran(manager, { id: 'still', argv: ['true'] })).rejects.toEqual(refused)
    await expect(manager.call('start', { id: 'still' })).rejects.toEqual(refused)
    const run = (input: Inputs['run']) => collect(manager.stream('run', { argv: ['true'], ...input }))
    await expect(run({ id: 'still' })).rejects.toEqual(refused)
    await expect(run({ id: 'still', count: 2 })).rejects.toEqual(refused)
    await expect(run({ id: 'new', from: 'empty', config })).rejects.toEqual(refused)
    await expect(run({ id: 'new', from_workspace: 'still' })).rejects.toEqual(refused)
    const template = { name: 'page', from_workspace: 'still' }
    await expect(manager.call('template create', { ...template, setup: [['true']] })).rejects.toEqual(refused)
    expect(await eventsOf(manager, 'still')).toEqual(before)
    expect(await manager.call('exists', { id: 'new' })).toMatchObject({ exists: false })
    expect(await manager.call('template create', template)).toMatchObject({ setup: null })
    await manager.call('create', { id: 'new', template: 'page' })
    expect((await ran(manager, { id: 'new', argv: ['true'] })).exit).toMatchObject({ code: 0 })
  })
}
