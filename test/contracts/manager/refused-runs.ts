import { expect, it } from 'vitest'
import type { Inputs, Outputs } from '../../../src/api/table.ts'
import type { Manager } from '../../../src/ports/manager.ts'
import { collect } from '../../support/collect.ts'
import { code, type OpenManager } from '../manager.ts'

const run = (manager: Manager, input: Inputs['run']): Promise<Outputs['run'][]> => collect(manager.stream('run', input))

const argv = ['true']

/** A run that is refused, or that cannot be started, leaves no workspace behind. */
export function refusedRunContract(open: OpenManager): void {
  it.each([
    ['a host that is a url', 'invalid_input', { argv, allow: ['http://example.org'] }],
    ['an unknown agent', 'agent_not_found', { agent: 'nobody', prompt: 'Do it' }],
    ['a shared area that is not there', 'shared_not_found', { argv, shared: ['nothing'] }],
    ['a variable that no command can have', 'invalid_input', { argv, env: { 'A=B': 'c' } }],
    ['an empty prompt', 'invalid_input', { argv, prompt: ' \n' }],
    ['an argument that no program can take', 'invalid_input', { argv: ['echo', 'a\0b'] }],
  ] as const)('with %s, nothing is made', async (_, expected, wish) => {
    const { manager } = await open()
    const input = wish as Inputs['run']
    for (const more of [{}, { id: 'job' }, { id: 'job', count: 2 }, { generate: 'job', labels: { a: 'b' } }])
      await expect(run(manager, { ...input, ...more })).rejects.toEqual(code(expected))
    expect(await manager.call('list', { all: true })).toEqual([])

    const { id } = await manager.call('create', { id: 'origin' })
    await manager.call('fs write', { id, path: 'new', content: 'new' })
    for (const more of [
      { id: 'job', from_workspace: 'origin' },
      { id: 'origin', count: 2 },
    ])
      await expect(run(manager, { ...input, ...more })).rejects.toEqual(code(expected))
    expect(await manager.call('list', { all: true })).toMatchObject([{ id, snapshots: 0 }])
  })

  it('what fails only once there is a workspace moves that to the trash, and says so', async () => {
    const { manager } = await open()
    const wish = { argv, cwd: '../../elsewhere' }
    await expect(run(manager, { ...wish, id: 'job' })).rejects.toMatchObject({
      code: 'path_traversal_attempt',
      hint: expect.stringContaining('is in the trash; bring it back with: aw undelete job/main') as string,
    })
    expect(await manager.call('list', {})).toEqual([])
    expect(await manager.call('list', { trashed: true })).toMatchObject([{ workspace_id: 'job/main' }])

    const failed = await run(manager, { ...wish, id: 'many', count: 2 })
    expect(failed.toSorted((one, other) => (one.workspace < other.workspace ? -1 : 1))).toMatchObject(
      ['many/main-1', 'many/main-2'].map((workspace) => ({
        type: 'failed',
        workspace,
        error: { code: 'path_traversal_attempt' },
      })),
    )
    expect(await manager.call('list', {})).toEqual([])
    await manager.call('undelete', { id: 'job' })
    expect(await run(manager, { id: 'job', argv })).toMatchObject([{ type: 'started' }, { type: 'ended' }])
  })

  it('a workspace that was there before stays, and so does one whose run has begun', async () => {
    const { manager } = await open()
    await manager.call('create', { id: 'job' })
    await expect(run(manager, { id: 'job', argv, cwd: '../../elsewhere' })).rejects.toEqual(
      code('path_traversal_attempt'),
    )
    await run(manager, { id: 'other', argv: ['false'] })
    await run(manager, { id: 'many', count: 2, argv: ['false'] })
    const live = (await manager.call('list', {})).map(({ workspace_id: name }) => name)
    expect(live.toSorted()).toEqual(['job/main', 'many/main', 'many/main-1', 'many/main-2', 'other/main'])
  })
}
