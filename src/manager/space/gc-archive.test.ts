import { describe, expect, it } from 'vitest'
import { memoryCore, type MemoryCore } from '../../../test/memory/core.ts'

const day = 86_400_000
const set = { 'archive.before_expiry': 'true' }

/** A core with a workspace that expired, eight days in the trash. */
async function expired(more: Readonly<Record<string, string>> = {}) {
  let at = Date.UTC(2026, 0, 1)
  const core = memoryCore({ set: { ...set, ...more }, now: () => new Date((at += 1)) })
  const { manager } = core
  const { id } = await manager.call('create', { id: 'fix-login/claude', ttl: '1h' })
  await manager.call('fs write', { id, path: 'work/notes', content: 'hours of work' })
  at += day
  expect((await manager.call('gc', {})).items).toMatchObject([{ action: 'trash', workspace: 'fix-login/claude' }])
  at += 8 * day
  return { ...core, id, pass: (ms: number) => void (at += ms) }
}

const archives = ({ disk }: MemoryCore): string[] => [...(disk.directory('/archives')?.entries.keys() ?? [])]

/** The process died when the file was there and the tree still was, too. */
async function packedOnly() {
  for (let steps = 1; steps < 50; steps++) {
    const core = await expired()
    const mortal = core.start(steps)
    await mortal.manager.call('gc', {}).catch(() => undefined)
    mortal.end()
    await core.manager.call('recover', {})
    const { state, archives: made } = await core.manager.call('show', { id: core.id })
    if (state === 'trashed' && made.length === 1) return core
  }
  throw new Error('It is never packed only')
}

describe('a workspace that expired', () => {
  it('is packed before it is erased, not when it goes to the trash', async () => {
    const core = await expired()
    expect(archives(core)).toEqual([])
    const { items } = await core.manager.call('gc', {})
    const [name = ''] = archives(core)
    expect(name).toMatch(/^fix-login\.claude\.20260110T\d{9}Z\.aw\.tar\.zst$/)
    expect(items).toMatchObject([{ kind: 'tree', error: null, archive: `/archives/${name}` }])
    const file = core.disk.at(`/archives/${name}`)
    const bytes = file?.kind === 'file' ? file.bytes : Buffer.of()
    const { about, tree } = JSON.parse(bytes.toString()) as { about: object; tree: Record<string, unknown> }
    expect(about).toMatchObject({ layout: 'workspace', name: 'fix-login/claude', profile: 'aw', workspace: core.id })
    expect(tree).toMatchObject({ work: { notes: Buffer.from('hours of work').toString('base64') } })
    expect(Object.keys(tree)).not.toContain('.aw')
    expect(await core.manager.call('show', { id: core.id })).toMatchObject({
      state: 'purged',
      archives: [{ path: `/archives/${name}`, bytes: bytes.length, tree: `${core.id}.1` }],
    })
    expect(await core.manager.call('recover', {})).toMatchObject({ orphans: [], leftovers: [], lost: [] })
  })

  it('stays in the trash if it cannot be packed', async () => {
    const core = await expired()
    core.disk.put('/archives', { kind: 'symlink', target: '/nowhere', mtime: new Date(0) })
    const { items, bytes } = await core.manager.call('gc', {})
    expect(items).toMatchObject([{ kind: 'tree', error: expect.any(String) as string }])
    expect(bytes).toBe(0)
    expect(await core.manager.call('show', { id: core.id })).toMatchObject({ state: 'trashed', operation: null })
    await core.manager.call('undelete', { id: core.id })
    expect(String(await core.manager.call('fs read', { id: core.id, path: 'work/notes' }))).toBe('hours of work')
  })

  it('stays in the trash if the directory with the other archives is not there', async () => {
    const core = await expired()
    const { manager, disk, pass } = core
    await manager.call('gc', {})
    const { id } = await manager.call('create', { id: 'second', ttl: '1h' })
    pass(day)
    await manager.call('gc', {})
    pass(8 * day)
    const made = disk.at('/archives')
    disk.remove('/archives')
    const missing = 'The archive directory /archives is missing, though archives were written to it'
    expect((await manager.call('gc', {})).items).toMatchObject([{ error: expect.stringContaining(missing) as string }])
    expect(disk.at('/archives')).toBeUndefined()
    expect(await manager.call('show', { id })).toMatchObject({ state: 'trashed', operation: null })
    if (made !== undefined) disk.put('/archives', made)
    expect((await manager.call('gc', {})).items).toMatchObject([{ error: null }])
    expect(archives(core)).toHaveLength(2)
  })

  it('is packed again if it was brought back and expired once more', async () => {
    const core = await packedOnly()
    const { manager, pass, id } = core
    await manager.call('undelete', { id })
    await manager.call('ttl', { id, duration: '1h' })
    pass(day)
    await manager.call('gc', {})
    pass(8 * day)
    await manager.call('gc', {})
    expect(archives(core)).toHaveLength(2)
    expect((await manager.call('show', { id })).archives).toHaveLength(2)
  })

  it.each([
    [
      'somebody destroyed it',
      async ({ manager, id }: Awaited<ReturnType<typeof expired>>) => {
        await manager.call('undelete', { id })
        await manager.call('destroy', { id })
      },
    ],
    ['that is not switched on', async () => undefined],
  ])('is not packed if %s', async (name, act) => {
    const core = await expired(name.startsWith('that') ? { 'archive.before_expiry': 'false' } : {})
    await act(core)
    core.pass(8 * day)
    expect((await core.manager.call('gc', {})).items).toMatchObject([{ kind: 'tree', archive: null, error: null }])
    expect(archives(core)).toEqual([])
  })
})

describe('an archive', () => {
  it('goes when its time is over, and only if it is still the file that was made', async () => {
    const forever = await expired()
    await forever.manager.call('gc', {})
    forever.pass(9999 * day)
    expect((await forever.manager.call('gc', {})).items).toEqual([])

    const core = await expired({ 'archive.retention_days': '30' })
    const { manager, disk, pass } = core
    await manager.call('gc', {})
    disk.put('/archives/mine', { kind: 'file', bytes: Buffer.from('mine'), mode: 0o600, mtime: new Date(0) })
    const [name = ''] = archives(core)
    pass(29 * day)
    expect((await manager.call('gc', {})).items).toEqual([])
    pass(2 * day)
    const whole = disk.at(`/archives/${name}`)
    disk.put(`/archives/${name}`, { kind: 'file', bytes: Buffer.from('other'), mode: 0o600, mtime: new Date(0) })
    expect(await manager.call('gc', {})).toMatchObject({
      items: [],
      kept: [{ kind: 'archive', tree: `/archives/${name}`, reason: 'it is not the file that aw wrote any more' }],
    })
    if (whole !== undefined) disk.put(`/archives/${name}`, whole)
    expect((await manager.call('gc', {})).items).toMatchObject([
      { kind: 'archive', reason: expect.stringMatching(/^archived 31 days ago/) as string, error: null },
    ])
    expect(archives(core)).toEqual(['mine'])
    expect(await manager.call('show', { id: core.id })).toMatchObject({ archives: [] })
    expect((await manager.call('gc', {})).items).toEqual([])
  })
})

it('gc may be killed at every step: the tree or the archive is whole, and nothing is left over', async () => {
  for (let steps = 0; ; steps++) {
    const core = await expired()
    const mortal = core.start(steps)
    const done = await mortal.manager.call('gc', {}).then(
      ({ items }) => items.every(({ error }) => error === null),
      () => false,
    )
    const isThrough = done && mortal.left() > 0
    mortal.end()
    const { failed } = await core.manager.call('recover', {})
    expect(failed).toEqual([])
    const { state, operation, archives: made } = await core.manager.call('show', { id: core.id })
    expect(operation).toBeNull()
    expect(archives(core), `${steps} steps`).toEqual(made.map(({ path }) => path.replace('/archives/', '')))
    expect(core.disk.directory('/storage/tmp')?.entries.size ?? 0).toBe(0)
    if (state === 'trashed') {
      await core.manager.call('gc', {})
      expect(archives(core)).toHaveLength(1)
    } else expect([state, made.length]).toEqual(['purged', 1])
    if (!isThrough) continue
    expect(steps).toBeGreaterThan(5)
    return
  }
})

it('so it may while it removes an old archive', async () => {
  for (let steps = 0; ; steps++) {
    const core = await expired({ 'archive.retention_days': '30' })
    await core.manager.call('gc', {})
    core.pass(31 * day)
    const mortal = core.start(steps)
    await mortal.manager.call('gc', {}).catch(() => undefined)
    const isThrough = mortal.left() > 0
    mortal.end()
    await core.manager.call('recover', {})
    await core.manager.call('gc', {})
    expect(archives(core), `${steps} steps`).toEqual([])
    expect(await core.manager.call('show', { id: core.id })).toMatchObject({ operation: null, archives: [] })
    if (isThrough) return
  }
})
