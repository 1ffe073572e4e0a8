import { describe, expect, onTestFinished, test } from 'vitest'
import { toAwError } from '../domain/errors.ts'
import type { Manager, Progress } from '../ports/manager.ts'
import { collect } from '../../test/support/collect.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { limited } from './limited.ts'
import type { Principal } from './principal.ts'

/** What is told to a token for one workspace besides answers: progress, errors, and where its snapshots come from. */

const usual = { isolation: 'namespace', mount: { setting: '/workspace', isSet: false } }

async function scene() {
  const { manager } = memoryCore()
  onTestFinished(() => manager[Symbol.asyncDispose]())
  const { id, path } = await manager.call('create', { id: 'mine/one' })
  const home = path.slice(0, path.indexOf('/', 1))
  const principal: Principal = {
    actor: 'token:tok_1',
    scopes: ['read', 'fs:read', 'fs:write', 'exec', 'snapshot', 'workspace'],
    workspaces: [id, 'made/*'],
  }
  const places = { home, basePath: path.slice(0, -'/mine/one'.length), storageRoot: `${home}/storage` }
  return { manager, id, path, mine: limited(manager, principal, { places, ...usual }), principal, places }
}

test('progress tells nothing of the machine', async () => {
  const { id, mine, places } = await scene()
  const heard: Progress[] = []
  await mine.call('fork', { id, to: ['made/a', 'made/b'] }, { onProgress: (progress) => void heard.push(progress) })
  expect(heard.map(({ made }) => made?.name)).toEqual(['made/a', 'made/b'])
  expect(JSON.stringify(heard)).not.toContain(places.basePath)
})

describe('the names of other workspaces', () => {
  test('that began as a snapshot are not in the error that keeps it', async () => {
    const { manager, id, mine } = await scene()
    const { id: snapshot } = await mine.call('snapshot', { id })
    await manager.call('fork', { id, to: ['other/hush', 'made/known'], at: snapshot })
    const error = toAwError(
      await mine.call('snapshot remove', { id, snapshots: [snapshot] }).catch((one: unknown) => one),
    )
    expect(error.code).toBe('invalid_state')
    expect(JSON.stringify(error)).not.toContain('hush')
    expect(error.data['forks']).toEqual(expect.arrayContaining(['made/known', '(hidden)']))
    expect(error.message).toContain(snapshot)
  })

  test('whose fork it is are not beside the snapshot that it began as', async () => {
    const { manager, id, mine, principal, places } = await scene()
    await manager.call('create', { id: 'other/hush' })
    const parent = await manager.call('snapshot', { id: 'other/hush' })
    await manager.call('fs write', { id: 'other/hush', path: 'work/file', content: 'x', parents: true })
    const told = { label: 'Mend what hush asked for', meta: { ticket: 'hush-1' }, key: 'hush-2' }
    await manager.call('snapshot', { id: 'other/hush', ...told })
    const { forks } = await manager.call('fork', { id: 'other/hush', to: ['theirs/fork'] })
    const fork = forks[0]?.workspace?.id ?? ''
    const own = limited(manager, { ...principal, workspaces: [fork] }, { places, ...usual })
    const all = [
      await own.call('describe', { id: fork }),
      await own.call('snapshots', { id: fork, base: true }),
      await own.call('show', { id: fork }),
    ]
    for (const secret of ['hush', parent.id]) expect(JSON.stringify(all)).not.toContain(secret)
    expect(all[0]).toMatchObject({ workspace: 'theirs/fork', head: { workspace: '(hidden)' } })
    // What is its own is told as it is, and what it calls so itself.
    await mine.call('snapshot', { id, meta: { workspace: 'other/hush' } })
    const [kept] = await mine.call('snapshots', { id })
    expect(kept).toMatchObject({ meta: { workspace: 'other/hush' } })
  })
})

test('the log has no lease in it with which one would be another', async () => {
  const { manager, id, mine } = await scene()
  const { id: lease } = await manager.call('lease acquire', { id, holder: 'somebody' })
  await manager.call('lease release', { id, lease })
  const { id: second } = await manager.call('adopt', { id, holder: 'another' })
  const told = JSON.stringify(await collect(mine.stream('events', { workspace: id })))
  expect(told).toContain('"holder":"somebody"')
  for (const one of [lease, second]) expect(told).not.toContain(one)
  // Whoever has one has it from the answer.
  expect((await mine.call('lease renew', { id, lease: second })).id).toBe(second)
})

test('the last so many events are those of its own', async () => {
  const { manager, id, mine } = await scene()
  await mine.call('snapshot', { id })
  const own = await collect(mine.stream('events', {}))
  for (const agent of ['a', 'b']) await manager.call('create', { id: `elsewhere/${agent}` })
  expect(own.length).toBeGreaterThan(2)
  expect(await collect(mine.stream('events', { tail: 2 }))).toEqual(own.slice(-2))
  const stop = new AbortController()
  const seen: number[] = []
  for await (const { position } of mine.stream('events', { tail: 1, follow: true }, { signal: stop.signal })) {
    if (seen.push(position) === 1) await mine.call('snapshot', { id })
    if (seen.length === 2) stop.abort()
  }
  const positions = (await collect(mine.stream('events', {}))).map(({ position }) => position)
  expect(seen).toEqual(positions.slice(own.length - 1, own.length + 1))
})

test('an error within an answer tells as little of the machine as one that ends a call', async () => {
  const { manager, id, principal, places } = await scene()
  const problem = { code: 'source_failed', message: "EACCES: open '/srv/secret/key', and /asked/for is not there" }
  const odd: Manager = {
    ...manager,
    call: async (name: never, input: never, context: never) => {
      const view = await manager.call(name, input, context)
      return name === 'show' ? Object.assign({}, view, { problem }) : view
    },
    async *stream() {
      const error = { ...problem, hint: 'See /srv/secret' }
      yield {
        type: 'failed',
        workspace: 'mine/one',
        notes: ['nobody keeps memory here: /sys/fs/cgroup/x'],
        error,
      } as never
    },
  }
  const own = limited(odd, principal, { places, ...usual })
  expect((await own.call('show', { id })).problem?.message).toBe("EACCES: open '(hidden)', and (hidden) is not there")
  const items = await collect(own.stream('exec', { id, argv: ['/asked/for'] }))
  expect(items).toMatchObject([
    {
      notes: ['nobody keeps memory here: (hidden)'],
      error: { message: "EACCES: open '(hidden)', and /asked/for is not there", hint: 'See (hidden)' },
    },
  ])
})

test('content is not made to text only to see whether a path is in it', async () => {
  const { id, mine } = await scene()
  const content = Object.assign(Buffer.from('content'), {
    toJSON() {
      throw new Error('All of it was made to text')
    },
  })
  await mine.call('fs write', { id, path: 'work/file', content, parents: true })
  await expect(mine.call('fs write', { id, path: '../file', content })).rejects.toMatchObject({
    code: 'path_traversal_attempt',
  })
})
