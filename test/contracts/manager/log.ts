import { expect, it } from 'vitest'
import { collect } from '../../support/collect.ts'
import { code, type OpenManager } from '../manager.ts'

const pause = (ms: number): Promise<undefined> => new Promise((resolve) => setTimeout(() => resolve(undefined), ms))

export function logContract(open: OpenManager): void {
  it('tells who did what, by task, workspace, type and position', async () => {
    const { aw } = await open()
    const context = { actor: 'agent:7', correlationId: 'cor_test', causationId: 'cor_before' }
    const { id } = await aw.create({ id: 't1/a' }, context)
    await aw.create({ id: 't2/a' })
    await aw.destroy('t1/a')
    const all = await collect(aw.events({}))
    const types = async (filter: Parameters<typeof aw.events>[0]): Promise<string[]> =>
      (await collect(aw.events(filter))).map(({ type }) => type)
    expect(await types({ task: 't1' })).toEqual([
      'workspace_create_started',
      'workspace_created',
      'workspace_destroy_started',
      'workspace_cleanup',
    ])
    expect(await types({ workspace: id })).toEqual(await types({ task: 't1' }))
    expect(await types({ workspace: 't1/a', type: ['workspace_cleanup'] })).toEqual(['workspace_cleanup'])
    expect(await types({ task: 't1', limit: 1 })).toEqual(['workspace_create_started'])
    expect(await types({ correlation: 'cor_test' })).toEqual(['workspace_create_started', 'workspace_created'])
    expect(await types({ correlation: 'cor_test', workspace: 't2/a' })).toEqual([])
    expect(await types({ correlation: 'cor_test', workspace: id, type: ['workspace_created'] })).toHaveLength(1)
    const third = all[2]?.position ?? 0
    expect((await collect(aw.events({ after: third }))).length).toBe(all.length - 3)
    const [first] = await collect(aw.events({ task: 't1', limit: 1 }))
    expect(first).toMatchObject({
      stream: id,
      version: 1,
      data: { task_id: 't1', agent_id: 'a' },
      meta: { actor: 'agent:7', correlation_id: 'cor_test', causation_id: 'cor_before' },
    })
    const [unknown] = await collect(aw.events({ task: 'nobody' }))
    expect(unknown).toBeUndefined()
    await expect(collect(aw.events({ workspace: 'ws_00000000000000000000000000' }))).rejects.toEqual(
      code('workspace_not_found'),
    )
  })

  it('the last so many, of all or of some, oldest first, and what comes next if that is wanted', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 't1/a' })
    await aw.create({ id: 't2/a' })
    const all = await collect(aw.events({}))
    expect(await collect(aw.events({ tail: 3 }))).toEqual(all.slice(-3))
    expect(await collect(aw.events({ tail: 1000 }))).toEqual(all)
    const [made] = await collect(aw.events({ task: 't1', tail: 1 }))
    expect(made).toMatchObject({ type: 'workspace_created', data: { task_id: 't1' } })
    expect(await collect(aw.events({ type: ['workspace_created'], tail: 1 }))).toMatchObject([
      { stream: all.at(-1)?.stream },
    ])
    expect(await collect(aw.events({ tail: 3, limit: 1 }))).toEqual(all.slice(-3, -2))
    expect(await collect(aw.events({ tail: 1, after: all.at(-1)?.position }))).toEqual([])
    expect(await collect(manager.stream('events', { tail: 1, from_now: true }))).toEqual([])
    await expect(collect(aw.events({ tail: 1, workspace: 'nope' }))).rejects.toEqual(code('workspace_not_found'))

    const stop = new AbortController()
    const seen: unknown[] = []
    for await (const { type } of manager.stream('events', { tail: 1, follow: true }, { signal: stop.signal })) {
      if (seen.push(type) === 1) await aw.create({ id: 't3/a' })
      if (seen.length === 3) stop.abort()
    }
    expect(seen).toEqual(['workspace_created', 'workspace_create_started', 'workspace_created'])
  })

  it('of a name that nobody has had there is nothing to tell, and that is said', async () => {
    const { aw } = await open()
    await expect(collect(aw.events({ workspace: 'nope' }))).rejects.toEqual(
      code('workspace_not_found', { workspace: 'nope/main' }),
    )
    await aw.create({ id: 'one' })
    await aw.rename('one', { to: 'two' })
    // That nothing of the kind has happened is an answer; and a name that somebody had is known.
    expect(await collect(aw.events({ workspace: 'two', type: ['snapshot_created'] }))).toEqual([])
    expect(await collect(aw.events({ workspace: 'one', type: ['snapshot_created'] }))).toEqual([])
    await aw.destroy('two')
    expect((await collect(aw.events({ workspace: 'two' }))).length).toBeGreaterThan(0)
  })

  it('a subscription gets what happens from now on, and ends with its signal', async () => {
    const { aw } = await open()
    await aw.create({ id: 'before' })
    const stop = new AbortController()
    const seen: string[] = []
    const events = aw.subscribe({}, { signal: stop.signal })[Symbol.asyncIterator]()
    const next = events.next()
    // When it has begun cannot be seen: workspaces are made until the first of them shows.
    const begun = next.then((value) => value)
    for (let made = 0; (await Promise.race([begun, pause(20)])) === undefined; made++)
      await aw.create({ id: `after-${made}` })
    const first = await begun
    if (first.done !== true && first.value.type !== 'workspace_created') seen.push(first.value.type)
    // It has begun in the middle of one.
    else await aw.create({ id: 'another' })
    for await (const event of { [Symbol.asyncIterator]: () => events }) {
      seen.push(event.type)
      if (seen.length === 2) stop.abort()
    }
    expect(seen).toEqual(['workspace_create_started', 'workspace_created'])
  })

  it('the log verifies, and a seal says up to where', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    expect(await aw.audit.verify({})).toMatchObject({ intact: true, problems: [] })
    const { checkpoint } = await aw.audit.seal({})
    expect(checkpoint?.hash).toMatch(/^[0-9a-f]{64}$/)
    expect(await aw.audit.seal({})).toEqual({ checkpoint: null })
    expect(await aw.audit.verify({})).toMatchObject({ intact: true, unsealed: 0, checkpoint })
  })
}
