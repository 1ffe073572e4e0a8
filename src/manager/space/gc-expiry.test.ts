import { describe, expect, it } from 'vitest'
import { type Disk, walkNodes } from '../../../test/memory/disk.ts'
import type { Manager } from '../../ports/manager.ts'
import { collect } from '../../../test/support/collect.ts'
import { memoryCore, type MemoryOptions } from '../../../test/memory/core.ts'

const [hour, day] = [3_600_000, 86_400_000]

/** A core whose time passes when the test says so. */
function timed(options: MemoryOptions = {}) {
  let at = Date.UTC(2026, 0, 1)
  const set = { 'space.min_free_mb': '0', ...options.set }
  const core = memoryCore({ ...options, set, now: () => new Date((at += 1)) })
  return { ...core, pass: (ms: number) => void (at += ms) }
}

const stateOf = async (manager: Manager, id: string): Promise<string> => (await manager.call('show', { id })).state

const fill = (manager: Manager, id: string, bytes: number) =>
  manager.call('fs write', { id, path: 'work/data', content: Buffer.alloc(bytes, id) })

describe('a workspace with an end', () => {
  it('goes to the trash when its time is over, and stays when it was brought back', async () => {
    const { manager, pass } = timed()
    const { id, expires_at } = await manager.call('create', { id: 'a', ttl: '12h' })
    expect(expires_at).toMatch(/^2026-01-01T12:00:00/)
    pass(11 * hour)
    expect((await manager.call('gc', {})).items).toEqual([])
    pass(2 * hour)
    const plan = await manager.call('gc', { plan: true })
    expect(plan).toMatchObject({
      applied: false,
      items: [
        {
          kind: 'workspace',
          action: 'trash',
          tree: id,
          workspace: 'a/main',
          reason: 'the time it was made for was over 60 minutes ago',
        },
      ],
    })
    expect(await stateOf(manager, id)).toBe('ready')
    expect(await manager.call('gc', {})).toMatchObject({ applied: true, bytes: 0, items: [{ tree: id, error: null }] })
    expect(await manager.call('show', { id })).toMatchObject({ state: 'trashed', trash: [{ reason: 'retention' }] })
    expect(await manager.call('undelete', { id: 'a' })).toMatchObject({ state: 'ready', expires_at: null })
    pass(30 * day)
    expect((await manager.call('gc', {})).items).toEqual([])
  })

  it('can be given another one, or none', async () => {
    const { manager, pass } = timed()
    await manager.call('create', { id: 'a', ttl: '1h' })
    await manager.call('ttl', { id: 'a', duration: '3d' })
    pass(2 * day)
    expect((await manager.call('gc', {})).items).toEqual([])
    expect(await manager.call('ttl', { id: 'a', duration: 'none' })).toMatchObject({ expires_at: null })
    pass(20 * day)
    expect((await manager.call('gc', {})).items).toEqual([])
    expect(await manager.call('ttl', { id: 'a', duration: '999999999w' })).toMatchObject({
      expires_at: expect.stringMatching(/^21/) as string,
    })
  })

  it('stays while somebody holds it, and gc says who', async () => {
    const { manager, machine, pass } = timed()
    const ids: Record<string, string> = {}
    for (const id of ['kept', 'leased', 'used', 'free'])
      ids[id] = (
        await manager.call('create', { id, ttl: '1s', ...(id === 'kept' && { labels: { keep: 'please' } }) })
      ).id
    await manager.call('lease acquire', { id: 'leased', holder: 'ann', ttl_ms: 30 * day })
    machine.use(`/storage/volumes/${ids['used']}`, { pid: 7, command: 'sh', uses: 'cwd' })
    pass(hour)
    const done = await manager.call('gc', {})
    expect(done.items).toMatchObject([{ workspace: 'free/main', error: null }])
    expect(done.kept).toMatchObject([
      { workspace: 'kept/main', reason: 'it has the label keep' },
      { workspace: 'used/main', reason: expect.stringContaining('sh (7') as string },
      { workspace: 'leased/main', reason: expect.stringContaining('leased by ann') as string },
    ])
    for (const id of ['kept', 'leased', 'used']) expect(await stateOf(manager, id)).toBe('ready')
  })
})

describe('a workspace that was not used for long', () => {
  it('goes only where that is switched on, and an end of a lease is a use', async () => {
    const off = timed()
    await off.manager.call('create', { id: 'a' })
    off.pass(1000 * day)
    expect((await off.manager.call('gc', {})).items).toEqual([])

    const { manager, pass } = timed({ set: { 'workspaces.retention_days': '30' } })
    for (const id of ['idle', 'labelled', 'leased']) await manager.call('create', { id })
    await manager.call('lease acquire', { id: 'leased', holder: 'ann', ttl_ms: 20 * day })
    pass(15 * day)
    await manager.call('label', { id: 'labelled', labels: { seen: 'yes' } })
    pass(16 * day)
    const { items } = await manager.call('gc', {})
    expect(items).toMatchObject([
      { workspace: 'idle/main', reason: 'not used for 31 days; workspaces are kept for 30 days' },
    ])
    pass(20 * day)
    expect((await manager.call('gc', {})).items.map(({ workspace, kind }) => [workspace, kind])).toEqual([
      ['idle/main', 'tree'],
      ['labelled/main', 'workspace'],
      ['leased/main', 'workspace'],
    ])
  })

  it('stays if it is used while gc looks', async () => {
    let meddle: (() => Promise<unknown>) | undefined
    const { manager, pass } = timed({
      set: { 'workspaces.retention_days': '30' },
      onMeasure: async () => {
        const act = meddle
        meddle = undefined
        await act?.()
      },
    })
    await manager.call('create', { id: 'a' })
    pass(31 * day)
    meddle = () => manager.call('label', { id: 'a', labels: { used: 'yes' } })
    expect(await manager.call('gc', {})).toMatchObject({
      items: [],
      kept: [{ workspace: 'a/main', reason: 'it was used a moment ago' }],
    })
    expect(await stateOf(manager, 'a')).toBe('ready')
  })
})

/** What the trees hold, on a disk of so many bytes. */
const spaceOf = (total: number) => (disk: Disk) => {
  let used = 0
  const storage = disk.directory('/storage')
  for (const [, node] of storage === undefined ? [] : walkNodes(storage))
    if (node.kind === 'file') used += node.bytes.length
  return { total, bytes: Math.max(0, total - used) }
}

describe('a storage that is too full', () => {
  const full = { set: { 'space.high_percent': '90', 'space.low_percent': '60' }, space: spaceOf(100_000) }

  it('warns, then moves what was not used for longest, and no more the next time', async () => {
    const { manager, pass } = timed(full)
    for (const id of ['a', 'b', 'c', 'd']) {
      await manager.call('create', { id })
      await fill(manager, id, 21_000)
      pass(hour)
    }
    await manager.call('label', { id: 'a', labels: { used: 'yes' } })
    pass(2 * hour)
    expect(await manager.call('gc', { plan: true })).toMatchObject({
      items: [],
      space: { high_percent: 90, low_percent: 60, warning: expect.stringContaining('soon aw gc') as string },
    })
    await manager.call('create', { id: 'e' })
    await fill(manager, 'e', 10_000)
    const plan = await manager.call('gc', { plan: true })
    expect(plan.items.map(({ workspace }) => workspace)).toEqual(['b/main', 'c/main'])
    expect(plan.items[0]?.reason).toMatch(/^the storage is 9\d% full; not used for/)
    const done = await manager.call('gc', {})
    expect(done.items.map(({ workspace }) => workspace)).toEqual(['b/main', 'c/main'])
    expect(done).toMatchObject({
      bytes: 0,
      space: { warning: expect.stringMatching(/makes room .*; what was used in the last hour stays$/) as string },
    })
    expect(done.later_bytes).toBeGreaterThanOrEqual(42_000)
    expect((await manager.call('gc', {})).items).toEqual([])
    pass(hour)
    const after = await manager.call('gc', {})
    expect(after.items.map(({ kind, workspace }) => [kind, workspace])).toEqual([
      ['tree', 'b/main'],
      ['tree', 'c/main'],
    ])
    expect(after.space.used_percent).toBeLessThan(60)
    for (const id of ['a', 'd', 'e']) expect(await stateOf(manager, id)).toBe('ready')
  })

  it('never takes what is held, and nothing without the setting', async () => {
    const { manager } = timed({ space: spaceOf(1000) })
    await manager.call('create', { id: 'a', config: { max_size_mb: 0 } })
    expect((await manager.call('gc', {})).items).toEqual([])
    const held = timed({ ...full, space: () => ({ total: 1000, bytes: 1 }) })
    await held.manager.call('create', { id: 'a', labels: { keep: '' } })
    held.pass(day)
    expect(await held.manager.call('gc', {})).toMatchObject({
      items: [],
      kept: [{ workspace: 'a/main', reason: 'it has the label keep' }],
    })
  })
})

describe('bases', () => {
  /** As a driver with bases would have made it. */
  async function makeBase({ store, disk }: ReturnType<typeof timed>, base: string, at: string): Promise<void> {
    const data = { base, group: base, profile: 'aw', source: { kind: 'folder', path: '/x' } as const, imported: null }
    const meta = { actor: 'user:0', correlation_id: 'cor_1', causation_id: null, operation: null }
    const version = (await collect(store.read('home'))).length
    await store.append('home', version, [{ id: `ev_${base}`, at, type: 'base_created', data, meta }])
    disk.put(`/storage/bases/${base}/f`, { kind: 'file', bytes: Buffer.alloc(500), mode: 0o644, mtime: new Date(0) })
  }

  async function makeTemplate(core: ReturnType<typeof timed>, name: string, at: string): Promise<void> {
    const base = `template-${name}`
    await makeBase(core, base, at)
    const source = { kind: 'folder', path: '/x' } as const
    const data = { name, version: 1, base, profile: 'aw', description: '', source, variables: {}, files: [] }
    const meta = { actor: 'user:0', correlation_id: 'cor_1', causation_id: null, operation: null }
    const version = (await collect(core.store.read('home'))).length
    await core.store.append('home', version, [{ id: `ev_${name}`, at, type: 'template_saved', data, meta }])
  }

  it('of templates that were never saved, or are not there any more, go like others', async () => {
    const core = timed()
    const { manager, pass, store } = core
    const at = '2025-12-25T00:00:00.000Z'
    // As if the process had died between the two events, at a creation and at a removal.
    await makeBase(core, 'template-unsaved', at)
    await makeTemplate(core, 'removed', at)
    await makeTemplate(core, 'kept', at)
    const meta = { actor: 'user:0', correlation_id: 'cor_1', causation_id: null, operation: null }
    const version = (await collect(store.read('home'))).length
    const data = { name: 'removed', version: null }
    await store.append('home', version, [{ id: 'ev_gone', at, type: 'template_removed', data, meta }])
    pass(30 * day)
    expect((await manager.call('gc', {})).items.map(({ kind, tree }) => [kind, tree])).toEqual([
      ['base', 'template-unsaved'],
      ['base', 'template-removed'],
    ])
    expect((await manager.call('bases list', {})).map(({ name }) => name)).toEqual(['template-kept'])
  })

  it('go when nobody used them for long, but not those of a template', async () => {
    const core = timed()
    const { manager, pass } = core
    await makeBase(core, 'git-old', '2025-12-25T00:00:00.000Z')
    await makeTemplate(core, 'old', '2025-12-25T00:00:00.000Z')
    expect((await manager.call('gc', {})).items).toEqual([])
    pass(8 * day)
    expect(await manager.call('gc', {})).toMatchObject({
      items: [
        {
          kind: 'base',
          tree: 'git-old',
          bytes: 500,
          reason: 'no workspace began as it, and it was not used for 15 days; what is not needed stays for 14 days',
        },
      ],
      bytes: 500,
    })
    expect((await manager.call('bases list', {})).map(({ name }) => name)).toEqual(['template-old'])
    expect(core.disk.at('/storage/bases/git-old')).toBeUndefined()
  })

  it('go early when the storage is too full, before anything else', async () => {
    const set = { 'space.high_percent': '90', 'space.low_percent': '80' }
    const core = timed({ set, space: () => ({ total: 1000, bytes: 50 }) })
    await makeBase(core, 'git-new', '2025-12-31T22:00:00.000Z')
    await core.manager.call('create', { id: 'a' })
    core.pass(2 * hour)
    expect((await core.manager.call('gc', { plan: true })).items).toMatchObject([{ kind: 'base', tree: 'git-new' }])
  })
})

it('Ctrl-C ends gc between two things, and tells how far it came', async () => {
  const { manager } = timed()
  for (const id of ['a', 'b', 'c']) {
    await manager.call('create', { id })
    await manager.call('destroy', { id })
  }
  const stop = new AbortController()
  const onProgress = ({ phase }: { phase: string }): void => {
    if (phase === 'erasing b/main') stop.abort()
  }
  await expect(manager.call('gc', { older_than: '0s' }, { signal: stop.signal, onProgress })).rejects.toMatchObject({
    code: 'aborted',
    data: { planned: 3 },
  })
  const left = await manager.call('list', { trashed: true })
  expect(left.map(({ workspace_id }) => workspace_id)).toContain('c/main')
  expect(left.length).toBeLessThan(3)
  expect((await manager.call('gc', { older_than: '0s' })).items).toHaveLength(left.length)
})
