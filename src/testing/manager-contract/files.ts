import { expect, it } from 'vitest'
import { code, text, type OpenManager } from '../manager-contract.ts'

export function fileContract(open: OpenManager): void {
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

  it('a workspace may forbid what is done to its files', async () => {
    const { aw } = await open()
    await aw.create({ id: 'f', config: { allowed_operations: ['read'] } })
    await expect(aw.fs.write('f', { path: 'a', content: '' })).rejects.toEqual(code('permission_denied'))
    expect((await aw.fs.list('f')).entries.length).toBeGreaterThan(0)
  })
}
