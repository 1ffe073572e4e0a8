import { expect, it } from 'vitest'
import { toAwError } from '../../../src/domain/errors.ts'
import { collect } from '../../support/collect.ts'
import { code, text, type OpenManager } from '../manager.ts'

async function* pieces<T>(...all: readonly T[]): AsyncGenerator<T> {
  yield* all
}

export function fileContract(open: OpenManager): void {
  it('what leads out is told as that, also if what was to go there is not there', async () => {
    const { aw } = await open()
    await aw.create({ id: 'f' })
    for (const from of ['work/none', 'work/no/such', 'work/no/../none'])
      for (const [to, told] of [
        ['../x', 'path_traversal_attempt'],
        ['work/x', 'file_not_found'],
      ] as const)
        await expect(aw.fs.copy('f', { from, to }), `${from} to ${to}`).rejects.toEqual(code(told))
    await expect(aw.fs.copy('f', { from: 'work/no/../../../x', to: 'work/x' })).rejects.toEqual(
      code('path_traversal_attempt'),
    )
  })

  it('files are written, read, appended to, copied, moved and removed', async () => {
    const { aw } = await open()
    await aw.create({ id: 'f' })
    expect(await aw.fs.write('f', { path: 'work/a', content: 'one', mode: 0o600 })).toMatchObject({
      kind: 'file',
      size: 3,
      mode: 0o600,
    })
    await aw.fs.append('f', { path: 'work/a', content: ' two' })
    expect(text(await aw.fs.read('f', { path: 'work/a' }))).toBe('one two')
    expect(text(await aw.fs.read('f', { path: 'work/a', offset: 4, length: 2 }))).toBe('tw')
    expect(await aw.fs.mkdir('f', { path: 'work/x/y', parents: true })).toMatchObject({ kind: 'directory' })
    await aw.fs.copy('f', { from: 'work/a', to: 'work/x/b' })
    await aw.fs.move('f', { from: 'work/a', to: 'work/c' })
    expect((await aw.fs.list('f', { path: 'work' })).entries.map(({ path }) => path)).toEqual(['work/c', 'work/x'])
    expect((await aw.fs.tree('f', { path: 'work' })).entries).toEqual([
      { path: 'c', kind: 'file' },
      { path: 'x', kind: 'directory' },
      { path: 'x/b', kind: 'file' },
      { path: 'x/y', kind: 'directory' },
    ])
    expect((await aw.fs.tree('f', { path: 'work', nested: true })).tree).toMatchObject({ c: 'file', x: { b: 'file' } })
    expect(await aw.fs.stat('f', { path: 'work/c' })).toMatchObject({ size: 7 })
    expect(await aw.fs.resolve('f', { path: 'work/x/../c' })).toEqual({ path: 'work/c', exists: true, rebased: false })
    await expect(aw.fs.remove('f', { path: 'work/x' })).rejects.toEqual(code('directory_not_empty'))
    expect(await aw.fs.remove('f', { path: 'work/x', recursive: true })).toEqual({ removed: true })
    expect(await aw.fs.remove('f', { path: 'work/x', if_exists: true })).toEqual({ removed: false })
  })

  it('a path never leaves the workspace', async () => {
    const { aw, folder } = await open()
    const source = folder({
      out: { kind: 'symlink', target: '/etc/passwd' },
      up: { kind: 'symlink', target: '../../..' },
    })
    const { path } = await aw.create({ id: 'f', from: { folder: source } })
    const read = (path: string, more: object = {}) => aw.fs.read('f', { path, ...more })
    await expect(read('../x')).rejects.toEqual(code('path_traversal_attempt'))
    await expect(read('/etc/passwd')).rejects.toEqual(code('path_outside_workspace'))
    await expect(read('/etc/passwd', { absolute: 'reject' })).rejects.toEqual(code('absolute_path_not_allowed'))
    await expect(read('work/out')).rejects.toEqual(code('symlink_outside_workspace'))
    await expect(read('work/up/x')).rejects.toEqual(code('symlink_outside_workspace'))
    await expect(read('a\0b')).rejects.toEqual(code('invalid_path_null_byte'))
    await expect(read('work')).rejects.toEqual(code('not_a_file'))
    await expect(read('work/missing')).rejects.toEqual(code('file_not_found'))
    expect((await aw.fs.list('f', { path: 'work' })).entries).toMatchObject([{ escapes: true }, { escapes: true }])
    await aw.fs.write('f', { path: `${path}/work/inside`, content: '1' })
    expect(text(await read('/work/inside', { absolute: 'rebase' }))).toBe('1')
    await expect(aw.fs.write('f', { path: '.aw/x', content: '' })).rejects.toEqual(code('path_protected'))
    await expect(aw.fs.write('f', { path: 'work/inside', content: '', existing: 'error' })).rejects.toEqual(
      code('file_exists'),
    )
    await expect(read('work/inside', { max_bytes: 0 })).rejects.toEqual(code('file_too_large'))
  })

  it('in a session a backslash separates names, where absolute paths are taken as relative', async () => {
    const { aw } = await open()
    await aw.create({ id: 's', profile: 'session' })
    const rebase = { absolute: 'rebase' } as const
    const made = await aw.fs.write('s', { path: String.raw`\\mnt\.\sub\a.txt`, content: 'one', ...rebase })
    expect(made).toMatchObject({ path: 'mnt/sub/a.txt', rebased: true })
    expect(text(await aw.fs.read('s', { path: String.raw`mnt\sub/a.txt`, ...rebase }))).toBe('one')
    expect(await aw.fs.resolve('s', { path: String.raw`\mnt\sub\..\sub\a.txt`, ...rebase })).toEqual({
      path: 'mnt/sub/a.txt',
      exists: true,
      rebased: true,
    })
    for (const path of [String.raw`..\..\etc\passwd`, String.raw`\..\x`, String.raw`mnt\..\../x`])
      await expect(aw.fs.read('s', { path, ...rebase })).rejects.toEqual(code('path_traversal_attempt'))
    await expect(aw.fs.write('s', { path: String.raw`\.aw\x`, content: '', ...rebase })).rejects.toEqual(
      code('path_protected'),
    )
    await aw.fs.move('s', { from: String.raw`mnt\sub\a.txt`, to: String.raw`\output\b.txt`, ...rebase })
    expect((await aw.fs.list('s', { path: 'output\\', ...rebase })).entries).toMatchObject([{ path: 'output/b.txt' }])
    expect((await aw.fs.tree('s', { path: String.raw`\output`, ...rebase })).entries).toEqual([
      { path: 'b.txt', kind: 'file' },
    ])
  })

  it('elsewhere a backslash is a character of a name', async () => {
    const { aw } = await open()
    const name = String.raw`a\b`
    for (const [profile, content, absolute] of [
      ['aw', 'work', 'rebase'],
      ['session', 'mnt', 'inside'],
      ['session', 'mnt', undefined],
    ] as const) {
      const id = `${profile}-${absolute}`
      await aw.create({ id, profile })
      const path = `${content}/${name}`
      expect(await aw.fs.write(id, { path, content: '1', absolute })).toMatchObject({ path })
      expect((await aw.fs.list(id, { path: content })).entries).toMatchObject([{ path }])
      expect(await aw.fs.remove(id, { path, absolute })).toEqual({ removed: true })
    }
  })

  it('list, tree and stat agree on which links lead out', async () => {
    const { aw, folder } = await open()
    const link = (target: string) => ({ kind: 'symlink', target }) as const
    const links = {
      dangling: link('none/at/all'),
      file: link('inside'),
      'long-name': link('x'.repeat(300)),
      'loop-a': link('loop-b'),
      'loop-b': link('./loop-a'),
      out: link('/etc/passwd'),
      'out-by-link': link('up/etc'),
      self: link('self/below'),
      up: link('../../..'),
    }
    await aw.create({ id: 'f', from: { folder: folder({ inside: { kind: 'file', content: '1' }, ...links }) } })
    const leading = ['out', 'out-by-link', 'up']
    const expected = Object.keys(links).map((name) => [name, leading.includes(name)])
    const { entries } = await aw.fs.list('f', { path: 'work' })
    const listed = entries.filter(({ kind }) => kind === 'symlink')
    expect(listed.map(({ path, escapes }) => [path.replace('work/', ''), escapes])).toEqual(expected)
    for (const path of ['work', '/work', 'work/../work/.']) {
      const { entries: found = [] } = await aw.fs.tree('f', { path, absolute: 'rebase' })
      const shown = found.filter(({ kind }) => kind === 'symlink')
      expect(shown.map((entry) => [entry.path, entry.escapes])).toEqual(expected)
      expect(found.find((entry) => entry.path === 'inside')).toEqual({ path: 'inside', kind: 'file' })
    }
    for (const [name, escapes] of expected)
      expect(await aw.fs.stat('f', { path: `work/${String(name)}`, follow: false })).toMatchObject({ escapes })
    await expect(aw.fs.read('f', { path: 'work/loop-a' })).rejects.toEqual(code('cannot_resolve_symlinks'))
  })

  it('a file goes in and out piece by piece', async () => {
    const { aw } = await open()
    const { files } = await aw.create({ id: 'f' })
    const content = Buffer.from(Array.from({ length: 700_000 }, (_, i) => i % 251))
    const made = await files.upload('work/new/big', pieces(content.subarray(0, 300_000), content.subarray(300_000)))
    expect(made).toMatchObject({ path: 'work/new/big', kind: 'file', size: 700_000 })
    expect(Buffer.concat(await collect(files.download('work/new/big')))).toEqual(content)
    const part = await collect(files.download('work/new/big', { offset: 299_999, length: 300_000 }))
    expect(Buffer.concat(part)).toEqual(content.subarray(299_999, 599_999))
    expect(part.length).toBeGreaterThan(1)
    await files.upload('work/text', 'one', { size: 3, mode: 0o600 })
    await files.upload('work/text', new Blob(['two']).stream(), { max_bytes: 3 })
    expect(await files.readText('work/text')).toBe('two')
    expect(await files.stat('work/text')).toMatchObject({ mode: 0o600 })
    await files.upload('work/empty', new Uint8Array())
    const download = (path: string, more: object = {}) =>
      collect(aw.manager.stream('fs download', { id: 'f', path, ...more }))
    const { mtime } = await files.stat('work/text')
    expect(await download('work/empty')).toMatchObject([{ size: 0, offset: 0, data: Buffer.alloc(0) }])
    expect(await download('work/text', { offset: 9 })).toEqual([{ size: 3, offset: 9, mtime, data: Buffer.alloc(0) }])
    expect(await download('work/text', { offset: 1 })).toEqual([{ size: 3, offset: 1, mtime, data: Buffer.from('wo') }])
  })

  it('a download goes on with the file it began with', async () => {
    const { aw } = await open()
    const { files } = await aw.create({ id: 'f' })
    const content = Buffer.alloc(600_000, 'old')
    await files.write('work/big', content)
    const download = files.download('work/big')[Symbol.asyncIterator]()
    const begun = await download.next()
    await files.write('work/big', 'new')
    await aw.destroy('f')
    const rest = await collect({ [Symbol.asyncIterator]: () => download })
    expect(Buffer.concat([begun.value as Uint8Array, ...rest])).toEqual(content)
  })

  it('an upload that is not whole leaves nothing', async () => {
    const { aw } = await open()
    const { files } = await aw.create({ id: 'f', config: { allowed_operations: ['read', 'write'] } })
    await files.write('work/a', 'old')
    const stop = new AbortController()
    const broken = new Error('it broke off')
    async function* breaking(): AsyncGenerator<string> {
      yield 'some'
      throw broken
    }
    async function* endless(): AsyncGenerator<string> {
      yield 'some'
      stop.abort()
      await new Promise(() => undefined)
    }
    await expect(files.upload('work/a', breaking())).rejects.toBe(broken)
    await expect(files.upload('work/a', endless(), {}, { signal: stop.signal })).rejects.toEqual(code('aborted'))
    await expect(files.upload('work/x/a', 'some', { size: 5 })).rejects.toEqual(code('invalid_input'))
    await expect(files.upload('work/x/a', pieces('so', 'me'), { size: 3 })).rejects.toEqual(code('invalid_input'))
    await expect(files.upload('work/x/a', pieces('so', 'me'), { max_bytes: 3 })).rejects.toEqual(code('file_too_large'))
    await expect(files.upload('work/a', 'some', { existing: 'error' })).rejects.toEqual(code('file_exists'))
    await expect(files.upload('.aw/a', 'some')).rejects.toEqual(code('path_protected'))
    await expect(files.upload('work/no/a', 'some', { parents: false })).rejects.toEqual(code('file_not_found'))
    await expect(files.upload('../a', 'some')).rejects.toEqual(code('path_traversal_attempt'))
    await expect(aw.fs.upload('f', { path: 'work/b' })).rejects.toEqual(code('invalid_input'))
    expect((await files.tree('work')).entries).toEqual([{ path: 'a', kind: 'file' }])
    expect(await files.readText('work/a')).toBe('old')
  })

  it('an upload does not end in a tree that has taken the place of its own', async () => {
    const { aw } = await open()
    const workspace = await aw.create({ id: 'f' })
    const { files } = workspace
    await files.write('work/a', 'old')
    const { id } = await workspace.snapshot()
    await files.write('work/a', 'newer')
    const restored = { outcome: 'not tried' }
    async function* content(): AsyncGenerator<string> {
      yield 'some'
      restored.outcome = await workspace.restore(id).then(
        () => 'done',
        (error) => toAwError(error).code,
      )
    }
    const uploaded = await files.upload('work/b', content()).then(
      () => 'done',
      (error) => toAwError(error).code,
    )
    // A tree that is only there as long as somebody has it open cannot be replaced meanwhile.
    expect([
      ['done', 'workspace_busy'],
      ['workspace_active', 'done'],
    ]).toContainEqual([restored.outcome, uploaded])
    const isNew = uploaded === 'done'
    const { entries = [] } = await files.tree('work')
    expect(entries.map(({ path }) => path)).toEqual(isNew ? ['a', 'b'] : ['a'])
    expect(await files.readText('work/a')).toBe(isNew ? 'newer' : 'old')
  })

  it('a download ends with its signal, also if nobody asks for more', async () => {
    const { aw } = await open()
    const { files } = await aw.create({ id: 'f' })
    await files.write('work/big', Buffer.alloc(600_000))
    const stop = new AbortController()
    const download = files.download('work/big', {}, { signal: stop.signal })[Symbol.asyncIterator]()
    await download.next()
    stop.abort()
    await expect(download.next()).rejects.toEqual(code('aborted'))
    await expect(collect(files.download('work/big', {}, { signal: stop.signal }))).rejects.toEqual(code('aborted'))
    await expect(collect(files.download('work'))).rejects.toEqual(code('not_a_file'))
    await expect(collect(files.download('work/none'))).rejects.toEqual(code('file_not_found'))
  })
}
