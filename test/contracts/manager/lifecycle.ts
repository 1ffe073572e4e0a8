import { expect, it } from 'vitest'
import { collect } from '../../support/collect.ts'
import { code, type OpenManager } from '../manager.ts'

export function lifeContract(open: OpenManager): void {
  it('a workspace is made, found by name and id, and tells about itself', async () => {
    const { aw, hasPaths } = await open()
    const made = await aw.create({ id: 'task/agent', labels: { team: 'web' }, config: { max_size_mb: 7 } })
    expect(made).toMatchObject({
      workspace_id: 'task/agent',
      state: 'ready',
      generation: 1,
      labels: { team: 'web' },
      config: { max_size_mb: 7, allowed_operations: ['read', 'write', 'execute'] },
      operation: null,
      problem: null,
      trash: [],
    })
    expect(made.path).toEqual(hasPaths ? expect.stringMatching(/\/task\/agent$/) : null)
    expect(await aw.show('task/agent')).toEqual(await aw.show(made.id))
    if (hasPaths) expect(await aw.path('task/agent')).toEqual({ path: made.path })
    else await expect(aw.path('task/agent')).rejects.toEqual(code('path_not_visible', { id: made.id }))
    expect(await aw.exists('task/agent')).toEqual({ exists: true })
    expect(await aw.exists('task/other')).toEqual({ exists: false })
    expect(await aw.paths('task/agent')).toMatchObject({
      root: made.path,
      content: hasPaths ? `${made.path}/work` : null,
      metadata: hasPaths ? `${made.path}/.aw` : null,
    })
    expect(await aw.prompt.adapt('task/agent', { text: 'see /mnt/workspace/a' })).toEqual({
      text: 'see /workspace/a',
    })
    expect(await aw.show('task/agent', { sizes: true })).toMatchObject({ size_complete: true })
  })

  it('one segment means main; a name can be made up', async () => {
    const { aw } = await open()
    expect((await aw.create({ id: 'solo' })).workspace_id).toBe('solo/main')
    expect((await aw.create({ generate: 'Fix the login!' })).workspace_id).toMatch(/^fix-the-login-[a-z0-9]{6}\/main$/)
    expect((await aw.create()).workspace_id).toMatch(/^workspace-[a-z0-9]{6}\/main$/)
  })

  it('a live name is held by one workspace', async () => {
    const { aw } = await open()
    const first = await aw.create({ id: 'one' })
    await expect(aw.create({ id: 'one/main' })).rejects.toEqual(
      code('workspace_exists', { name: 'one/main', id: first.id }),
    )
    await aw.destroy('one')
    expect((await aw.create({ id: 'one' })).id).not.toBe(first.id)
  })

  it('ensure makes a workspace once', async () => {
    const { aw } = await open()
    const first = await aw.ensure('again')
    expect((await aw.ensure('again')).id).toBe(first.id)
    const many = await Promise.all(Array.from({ length: 5 }, () => aw.ensure('at-once')))
    expect(new Set(many.map(({ id }) => id)).size).toBe(1)
    await aw.destroy('again')
    await expect(aw.ensure(first.id)).rejects.toEqual(code('invalid_state', { state: 'trashed' }))
  })

  it('bad input is refused before anything happens', async () => {
    const { aw } = await open()
    for (const id of ['', 'a b', '../x', 'a/b/c', '-x', 'a/', '/a', 'ä', '.hidden', 'x'.repeat(101)]) {
      await expect(aw.create({ id })).rejects.toEqual(code('invalid_name'))
    }
    await expect(aw.create({ id: 'a', generate: 'b' })).rejects.toEqual(code('invalid_input', { field: 'generate' }))
    await expect(aw.create({ id: 'a', profile: 'none' })).rejects.toEqual(code('invalid_input', { field: 'profile' }))
    await expect(aw.create({ id: 'a', from: { folder: 'relative' } })).rejects.toEqual(code('invalid_input'))
    await expect(aw.create({ id: 'a', from: { folder: '/missing/folder' } })).rejects.toEqual(code('source_failed'))
    for (const [field, config] of Object.entries({
      max_size: { max_size: 1 },
      'git_config.user': { git_config: { user: 'me' } },
      'agent_files.workspace_rules': { agent_files: { workspace_rules: 'Be careful.' } },
    }))
      await expect(aw.create({ id: 'a', config: config as never })).rejects.toEqual(
        code('invalid_input', { field: `config.${field}` }),
      )
    await expect(aw.create({ id: 'a', labels: { 'bad key': '' } })).rejects.toEqual(code('invalid_input'))
    for (const id of ['missing', 'ws_00000000000000000000000000']) {
      await expect(aw.show(id)).rejects.toEqual(code('workspace_not_found'))
      await expect(aw.destroy(id)).rejects.toEqual(code('workspace_not_found'))
    }
    expect(await aw.list({ state: ['creating', 'ready', 'trashed', 'failed'] })).toEqual([])
  })

  it('a workspace starts with a copy of a folder, what is ignored included', async () => {
    const { aw, folder } = await open()
    const source = folder({
      '.gitignore': { kind: 'file', content: 'secret' },
      secret: { kind: 'file', content: 'ignored but there', mode: 0o600 },
      empty: { kind: 'directory' },
      link: { kind: 'symlink', target: 'secret' },
    })
    const made = await aw.create({ id: 'copy', from: { folder: source } })
    expect(made.imported).toMatchObject({ files: 2, skipped: 0 })
    expect(await made.files.readText('work/link')).toBe('ignored but there')
    expect(await made.files.stat('work/secret')).toMatchObject({ mode: 0o600 })
    expect((await made.files.tree('work')).entries?.map(({ path }) => path)).toEqual([
      '.gitignore',
      'empty',
      'link',
      'secret',
    ])
  })

  it.each([
    ['aw', '.aw'],
    ['ipa', '.ipa'],
    ['repo', '.m'],
    ['session', '.aw'],
  ])('profile %s has its directories and its metadata in %s', async (profile, inside) => {
    const { aw } = await open()
    const made = await aw.create({ id: 'p', profile, config: { task_spec: { goal: 'x' }, claude_md: 'Be kind.' } })
    for (const name of Object.keys((await aw.paths('p')).public_directories))
      expect(await made.files.stat(name)).toMatchObject({ kind: 'directory' })
    const written = JSON.parse(await made.files.readText(`${inside}/workspace_config.json`)) as object
    expect(written).toMatchObject({
      task_id: 'p',
      agent_id: 'main',
      workspace_path: expect.stringMatching(/\/p\/main$/) as string,
    })
    expect(await made.files.readText('CLAUDE.md')).toContain('Be kind.')
    await expect(made.files.write(`${inside}/context.json`, '{}')).rejects.toEqual(code('path_protected'))
  })

  it('a rename keeps the tree, frees the old name and takes the new one', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'old' })
    await made.files.write('work/a', 'kept')
    const renamed = await aw.rename('old', { to: 'new/name' })
    expect(renamed).toMatchObject({ id: made.id, workspace_id: 'new/name', state: 'ready' })
    expect(await renamed.files.readText('work/a')).toBe('kept')
    expect(JSON.parse(await renamed.files.readText('.aw/workspace_config.json'))).toMatchObject({ task_id: 'new' })
    await expect(aw.show('old')).rejects.toEqual(code('workspace_not_found'))
    await aw.create({ id: 'old' })
    await expect(aw.rename('old', { to: 'new/name' })).rejects.toEqual(code('workspace_exists'))
    expect(await aw.rename('old', { to: 'old' })).toMatchObject({ workspace_id: 'old/main' })
    await expect(aw.rename('old', { to: 'a b' })).rejects.toEqual(code('invalid_name'))
  })

  it('labels are set and removed, and found by', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a', labels: { keep: '1', drop: '2' } })
    expect((await aw.label('a', { labels: { added: '3' }, remove: ['drop'] })).labels).toEqual({
      keep: '1',
      added: '3',
    })
    await aw.create({ id: 'b', labels: { keep: '2' } })
    expect((await aw.list({ labels: { keep: '1' } })).map(({ name }) => name)).toEqual(['a/main'])
  })

  it('a list is filtered and read in pages', async () => {
    const { aw } = await open()
    for (const id of ['t1/a', 't1/b', 't2/a', 't2/b']) await aw.create({ id })
    await aw.destroy('t2/b')
    const names = async (filter: Parameters<typeof aw.list>[0]): Promise<string[]> =>
      (await aw.list(filter)).map(({ name }) => name).toSorted()
    expect(await names({})).toEqual(['t1/a', 't1/b', 't2/a'])
    expect(await names({ task: 't1' })).toEqual(['t1/a', 't1/b'])
    expect(await names({ agent: 'a' })).toEqual(['t1/a', 't2/a'])
    expect(await names({ trashed: true })).toEqual(['t2/b'])
    expect(await names({ all: true })).toHaveLength(4)
    expect(await names({ state: ['trashed', 'ready'], task: 't2' })).toEqual(['t2/a', 't2/b'])
    expect(await names({ newer_than: '1h' })).toHaveLength(3)
    expect(await names({ older_than: '1h' })).toEqual([])
    const first = await aw.list({ limit: 2 })
    const second = await aw.list({ limit: 2, after: first.at(-1)?.id ?? '' })
    expect([...first, ...second].map(({ id }) => id)).toEqual((await aw.list()).map(({ id }) => id))
    expect([first.length, second.length]).toEqual([2, 1])
    expect(await aw.list({ sizes: true, task: 't1' })).toMatchObject([{ size_complete: true }, { size_complete: true }])
    await expect(aw.list({ older_than: 'soon' })).rejects.toEqual(code('invalid_input'))
  })

  it('a lease is held by one, renewed and given back, and keeps others from removing', async () => {
    const { aw } = await open()
    await aw.create({ id: 'l' })
    const lease = await aw.lease.acquire('l', { holder: 'me', ttl_ms: 60_000 })
    expect((await aw.lease.acquire('l', { holder: 'me' })).id).toBe(lease.id)
    await expect(aw.lease.acquire('l', { holder: 'you' })).rejects.toEqual(code('workspace_active'))
    await expect(aw.destroy('l')).rejects.toEqual(code('workspace_active'))
    const renewed = await aw.lease.renew('l', { lease: lease.id, ttl_ms: 600_000 })
    expect(renewed.expires_at > lease.expires_at).toBe(true)
    expect(await aw.lease.release('l', { lease: lease.id })).toEqual({ released: true })
    expect(await aw.lease.release('l', { lease: lease.id })).toEqual({ released: false })
    await expect(aw.lease.renew('l', { lease: lease.id })).rejects.toEqual(code('lease_not_found'))
    await aw.lease.acquire('l', { holder: 'you', ttl_ms: 1000 })
    await expect
      .poll(
        () =>
          aw.lease.acquire('l', { holder: 'me' }).then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true)
  })

  it('a call that was cancelled before it began leaves no trace', async () => {
    const { aw } = await open()
    await expect(aw.create({ id: 'x' }, { signal: AbortSignal.abort() })).rejects.toEqual(code('aborted'))
    expect(await collect(aw.events({ task: 'x' }))).toEqual([])
  })

  it('a call that is cancelled in the middle is undone, and the log tells so', async () => {
    const { aw, manager, folder } = await open()
    const files = Array.from({ length: 300 }, (_, i) => [`f${i}`, { kind: 'file', content: `${i}` }] as const)
    const source = folder(Object.fromEntries(files))
    const seen = new Set<string>()
    for (let delay = 0; delay < 12; delay++) {
      const stop = new AbortController()
      const call = aw.create({ id: 'x', from: { folder: source } }, { signal: stop.signal })
      setTimeout(() => stop.abort(), delay)
      const outcome = await call.then(
        () => 'made',
        (error: unknown) => (error as { code: string }).code,
      )
      seen.add(outcome)
      expect(['made', 'aborted']).toContain(outcome)
      expect(await aw.exists('x')).toEqual({ exists: outcome === 'made' })
      if (outcome === 'made') await aw.destroy('x', { purge: true })
    }
    const unfinished = await aw.list({ all: true })
    expect(unfinished.every(({ state, operation }) => state === 'purged' && operation === null)).toBe(true)
    expect(await manager.call('recover', {})).toMatchObject({ recovered: [], orphans: [], leftovers: [] })
    for (const { id, problem } of unfinished) {
      const types = (await collect(aw.events({ workspace: id }))).map(({ type }) => type)
      expect(types[0]).toBe('workspace_create_started')
      expect(['workspace_cleanup', 'workspace_purged']).toContain(types.at(-1))
      expect(problem).toBeNull()
    }
    expect(seen.size).toBeGreaterThan(0)
  })
}
