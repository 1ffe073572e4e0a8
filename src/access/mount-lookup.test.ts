import { describe, expect, test } from 'vitest'
import { resolveConfig } from '../domain/config/config.ts'
import { toAwError } from '../domain/errors.ts'
import { mountSetting } from '../domain/sandbox/mount.ts'
import { defaultScopes } from '../domain/tokens/tokens.ts'
import { collect } from '../../test/support/collect.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { limited } from './limited.ts'

const places = { home: '/home', basePath: '/workspaces', storageRoot: '/storage' }

/** A home with two workspaces, and what somebody who may use all of them, or only some, is told of it. */
async function ground(set: Readonly<Record<string, string>>, profile: string, reach: readonly string[] | null = null) {
  const { manager } = memoryCore({ set })
  const facts = { places, isolation: 'namespace', mount: mountSetting(resolveConfig({ set })) }
  const they = limited(
    manager,
    { actor: 'token:tok_x', scopes: [...defaultScopes, 'workspace'], workspaces: reach },
    facts,
  )
  await manager.call('create', { id: 'a/one', profile })
  await manager.call('create', { id: 'a/two' })
  return { manager, they, [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose]() }
}

describe.each([
  ['where it usually is', {}, 'aw'],
  ['a session', {}, 'session'],
  ['a name of its own', { 'sandbox.mount': 'random' }, 'aw'],
  ['where the settings say', { 'sandbox.mount': '/srv/place' }, 'aw'],
] as const)('what is told of where a workspace is: %s', (_, set, profile) => {
  test('is where its sandboxes have it, and means it', async () => {
    await using home = await ground(set, profile)
    const { manager, they } = home
    const [one, two] = [await manager.call('paths', { id: 'a/one' }), await manager.call('paths', { id: 'a/two' })]
    const content = profile === 'session' ? 'mnt' : 'work'

    expect(await they.call('show', { id: 'a/one' })).toMatchObject({ path: one.public_root })
    expect((await they.call('list', {})).map(({ path }) => path)).toEqual([one.public_root, two.public_root])
    const told = await they.call('paths', { id: 'a/one' })
    expect(told).toMatchObject({ root: one.public_root, content: `${one.public_root}/${content}` })
    expect(told.public_directories).toEqual(one.public_directories)
    expect(await they.call('path', { id: 'a/one' })).toEqual({ path: one.public_root })
    const [created] = await collect(they.stream('events', { workspace: 'a/one', type: ['workspace_create_started'] }))
    expect(created?.data).toMatchObject({ workspace_path: one.public_root })

    const path = `${told.content}/note`
    expect(await they.call('fs write', { id: 'a/one', path, content: 'x' })).toMatchObject({ path: `${content}/note` })
    const error = await they.call('fs read', { id: 'a/one', path: `${told.root}/none` }).catch(toAwError)
    expect(error).toMatchObject({ code: 'file_not_found' })
    expect(JSON.stringify(error)).not.toContain('hidden')
    expect(await they.call('destroy', { id: 'a/one' })).toMatchObject({ workspace: { path: one.public_root } })
  })
})

test('where others are is not told, though a sentence names it', async () => {
  await using home = await ground({}, 'session', ['a/one'])
  const { manager, they } = home
  const labels = { mine: 'see /workspaces/a/one/mnt', other: 'see /workspaces/a/two/work', none: '/workspaces/x/y/z' }
  await manager.call('label', { id: 'a/one', labels })
  const { public_root: root } = await manager.call('paths', { id: 'a/one' })
  const { labels: told } = await they.call('show', { id: 'a/one' })
  expect(told).toEqual({ mine: `see ${root}/mnt`, other: 'see (hidden)', none: '(hidden)' })
})

test.each([
  [{ id: 1, workspace_id: 1, profile: 1, sandbox: 1 }],
  [{ id: 'a', workspace_id: 'mine/x', profile: 'aw', sandbox: { mount: '' } }],
])('what somebody keeps with a snapshot is not taken for a workspace: %j', async (meta) => {
  await using home = await ground({}, 'aw', ['a/one', 'mine/*'])
  const { manager, they } = home
  const { id } = await manager.call('show', { id: 'a/one' })
  for (const kept of [meta, { ...meta, id }, { below: [{ ...meta, id, workspace_id: 'a/one' }] }]) {
    await manager.call('fs write', { id, path: 'work/note', content: JSON.stringify(kept) })
    await manager.call('snapshot', { id, meta: { ...kept, where: '/srv/secret' } })
  }
  const told = JSON.stringify(await they.call('snapshots', { id }))
  expect(told).toContain('(hidden)')
  expect(told).not.toContain('/srv')
  const events = JSON.stringify(await collect(they.stream('events', { workspace: id })))
  expect(events).toContain('snapshot_created')
  expect(events).not.toContain('/srv')
})

test('of many items about one workspace, it is looked up once', async () => {
  await using home = await ground({}, 'aw', ['a/*'])
  const { manager } = home
  let shown = 0
  const counting: typeof manager = {
    ...manager,
    call(name, input, context) {
      if (name === 'show') shown++
      return manager.call(name, input, context)
    },
  }
  const facts = { places, isolation: 'namespace', mount: mountSetting(resolveConfig({})) }
  const they = limited(counting, { actor: 'token:tok_x', scopes: defaultScopes, workspaces: ['a/*'] }, facts)
  for (let i = 0; i < 5; i++) await manager.call('label', { id: 'a/two', labels: { at: `/workspaces/a/two/${i}` } })
  const events = await collect(they.stream('events', {}))
  expect(JSON.stringify(events)).toContain('/workspace/4')
  expect(shown).toBeLessThanOrEqual(2)
})
