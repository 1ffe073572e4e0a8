import { expect, it } from 'vitest'
import { code, type OpenManager } from '../manager.ts'

export function trashContract(open: OpenManager): void {
  it('a destroyed workspace is gone from its name and comes back as it was', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a', labels: { l: '1' } })
    await made.files.write('work/deep/file', 'content')
    expect(await aw.destroy('a', { reason: 'agent_completed' })).toMatchObject({
      removed: true,
      workspace: { state: 'trashed', trash: [{ generation: 1, reason: 'agent_completed' }] },
    })
    expect(await aw.exists('a')).toEqual({ exists: false })
    await expect(aw.path(made.id)).rejects.toEqual(code('invalid_state', { state: 'trashed' }))
    await expect(made.files.read('work/deep/file')).rejects.toEqual(code('invalid_state'))
    const back = await aw.undelete('a')
    expect(back).toMatchObject({ id: made.id, state: 'ready', trash: [], labels: { l: '1' }, path: made.path })
    expect(await back.files.readText('work/deep/file')).toBe('content')
  })

  it('destroying twice, or what never was, is told apart from success', async () => {
    const { aw } = await open()
    const { id } = await aw.create({ id: 'a' })
    await aw.destroy('a')
    await expect(aw.destroy('a')).rejects.toEqual(code('workspace_not_found'))
    await expect(aw.destroy(id)).rejects.toEqual(code('workspace_not_found', { state: 'trashed' }))
    expect(await aw.destroy('a', { if_exists: true })).toEqual({ removed: false })
    expect(await aw.destroy(id, { if_exists: true })).toEqual({ removed: false })
    await aw.create({ id: 'b' })
    expect([await aw.cleanup('b'), await aw.cleanup('b')]).toEqual([true, false])
    await expect(aw.undelete('never')).rejects.toEqual(code('workspace_not_found'))
    await aw.undelete('a')
    await expect(aw.undelete('a')).rejects.toEqual(code('invalid_state', { state: 'ready' }))
  })

  it('the newest of several with one name comes back; an id or --as brings another', async () => {
    const { aw } = await open()
    const first = await aw.create({ id: 'a' })
    await aw.destroy('a')
    const second = await aw.create({ id: 'a' })
    await aw.destroy('a')
    expect((await aw.undelete('a')).id).toBe(second.id)
    await expect(aw.undelete(first.id)).rejects.toMatchObject({
      code: 'workspace_exists',
      hint: `Bring it back under another name: aw undelete ${first.id} --as NAME`,
    })
    expect(await aw.show(first.id)).toMatchObject({ state: 'trashed', operation: null, workspace_id: 'a/main' })
    expect(await aw.undelete(first.id, { as: 'a/first' })).toMatchObject({ id: first.id, workspace_id: 'a/first' })
  })

  it('reset starts over from the source; the replaced tree comes back as a new workspace', async () => {
    const { aw, folder } = await open()
    const source = folder({ a: { kind: 'file', content: 'original' } })
    const made = await aw.create({ id: 'r', from: { folder: source } })
    await made.files.write('work/a', 'changed')
    await made.files.write('work/new', 'stale')
    const reset = await aw.reset('r')
    expect(reset).toMatchObject({
      id: made.id,
      generation: 2,
      state: 'ready',
      trash: [{ reason: 'reset', generation: 1 }],
    })
    expect(await reset.files.readText('work/a')).toBe('original')
    await expect(reset.files.read('work/new')).rejects.toEqual(code('file_not_found'))
    const tree = reset.trash[0]?.tree ?? ''
    await expect(aw.undelete(tree)).rejects.toEqual(code('invalid_input', { field: 'as' }))
    const old = await aw.undelete(tree, { as: 'r/old' })
    expect(await old.files.readText('work/a')).toBe('changed')
    expect(await old.files.readText('work/new')).toBe('stale')
    expect(old.id).not.toBe(made.id)
    await aw.destroy('r')
    expect((await aw.undelete('r')).generation).toBe(2)
    await expect(aw.undelete(`${made.id}.9`, { as: 'x' })).rejects.toEqual(code('workspace_not_found'))
  })

  it('a reset whose source is gone changes nothing', async () => {
    const { aw, manager } = await open()
    const made = await aw.create({ id: 'from-trash' })
    await made.files.write('work/a', '1')
    await aw.reset('from-trash')
    const copy = await aw.undelete(`${made.id}.1`, { as: 'copy' })
    await aw.gc({ older_than: '0s' })
    await copy.files.write('work/b', '2')
    await expect(aw.reset('copy')).rejects.toEqual(code('source_failed'))
    const after = await aw.get('copy')
    expect(after).toMatchObject({ state: 'ready', generation: 1, operation: null, trash: [] })
    expect(await after.files.readText('work/b')).toBe('2')
    expect(await manager.call('recover', {})).toMatchObject({ orphans: [], leftovers: [], recovered: [] })
  })

  it('purge erases for good', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'p' })
    await made.files.write('work/a', 'x'.repeat(1000))
    await expect(aw.purge('p')).rejects.toEqual(code('invalid_state', { state: 'ready' }))
    const hint = 'Move it to the trash first: aw destroy p/main; or erase it at once: aw destroy p/main --purge'
    await expect(aw.purge('p')).rejects.toMatchObject({ hint })
    await aw.destroy('p')
    const { purged, bytes } = await aw.purge('p')
    expect(purged).toBe(true)
    expect(bytes).toBeGreaterThanOrEqual(1000)
    expect(await aw.show(made.id)).toMatchObject({ state: 'purged', trash: [] })
    await expect(aw.undelete(made.id)).rejects.toEqual(code('invalid_state', { state: 'purged' }))
    await expect(aw.purge('p')).rejects.toEqual(code('workspace_not_found'))
    expect(await aw.purge('p', { if_exists: true })).toEqual({ purged: false, bytes: 0 })
    // Nobody guesses which.
    const ids = []
    for (let n = 0; n < 2; n++) {
      ids.unshift((await aw.create({ id: 'p' })).id)
      await aw.destroy('p')
    }
    await expect(aw.purge('p')).rejects.toEqual(code('invalid_input', { ids }))
    expect(await aw.purge(ids[1] ?? '')).toMatchObject({ purged: true })
    expect(await aw.purge('p')).toMatchObject({ purged: true })
    await aw.create({ id: 'q' })
    expect(await aw.destroy('q', { purge: true })).toMatchObject({ workspace: { state: 'purged' } })
  })

  it('gc calls a shared area by its name', async () => {
    const { aw, manager } = await open()
    await manager.call('shared create', { name: 'models' })
    await manager.call('shared remove', { name: 'models' })
    for (const plan of [true, false])
      expect((await aw.gc({ plan, older_than: '0s' })).items).toMatchObject([{ shared: 'models', workspace: null }])
  })

  it('gc shows what it would erase, then erases what is old enough', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'g' })
    await aw.reset('g')
    await aw.create({ id: 'h' })
    await aw.destroy('h')
    expect(await aw.gc({})).toMatchObject({ applied: true, items: [], kept: [], bytes: 0, later_bytes: 0 })
    const plan = await aw.gc({ plan: true, older_than: '0s' })
    expect(plan).toMatchObject({
      applied: false,
      items: [
        { kind: 'tree', workspace: 'g/main', reason: expect.stringMatching(/^replaced by a reset/) as string },
        { kind: 'tree', workspace: 'h/main', reason: expect.stringMatching(/^destroyed/) as string },
      ],
    })
    expect(await aw.list({ trashed: true })).toHaveLength(1)
    const done = await aw.gc({ older_than: '0s' })
    expect(done.items.map(({ tree, error }) => [tree, error])).toEqual(plan.items.map(({ tree }) => [tree, null]))
    expect(await aw.show('g')).toMatchObject({ state: 'ready', trash: [], generation: 2 })
    expect(await aw.list({ trashed: true })).toEqual([])
    await expect(aw.undelete(`${made.id}.1`, { as: 'x' })).rejects.toEqual(code('workspace_not_found'))
  })

  it('one that fails does not keep the others of a batch', async () => {
    const { aw } = await open()
    for (const id of ['a', 'b']) await aw.create({ id })
    const results = await aw.each('destroy', ['a', 'missing', 'b'])
    expect(results).toMatchObject([
      { id: 'a', ok: true, result: { removed: true } },
      { id: 'missing', ok: false, error: { code: 'workspace_not_found' } },
      { id: 'b', ok: true },
    ])
  })

  it('what belongs to live workspaces is refused for others, and the other way round', async () => {
    const { aw } = await open()
    const { id } = await aw.create({ id: 's' })
    await aw.destroy('s')
    const refused = code('invalid_state', { state: 'trashed' })
    await expect(aw.rename(id, { to: 'x' })).rejects.toEqual(refused)
    await expect(aw.reset(id)).rejects.toEqual(refused)
    await expect(aw.label(id, { labels: {} })).rejects.toEqual(refused)
    await expect(aw.lease.acquire(id, { holder: 'x' })).rejects.toEqual(refused)
    await expect(aw.fs.write(id, { path: 'a', content: '' })).rejects.toEqual(refused)
  })
}
