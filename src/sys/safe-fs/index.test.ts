import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { native } from '../native.ts'
import { openRoot } from './index.ts'
import { codeOf, openDescriptors, useWorkspace } from '../../../test/attacks/workspace.ts'

describe.each(['openat2', 'walk'] as const)('files, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace', protect: ['.aw'] })
  const text = (path: string) => ws.files.read(path).toString()

  describe('read', () => {
    test('gives the bytes of a file, or a part of them', () => {
      ws.put('a/b/c.txt', 'hello')
      expect(text('a/b/c.txt')).toBe('hello')
      expect(text('a/./b//c.txt')).toBe('hello')
      expect(text('a/b/../b/c.txt')).toBe('hello')
      expect(ws.files.read('a/b/c.txt', { offset: 1, length: 3 }).toString()).toBe('ell')
      expect(ws.files.read('a/b/c.txt', { offset: 9 })).toHaveLength(0)
    })

    test('refuses what is larger than is accepted', () => {
      ws.put('big', 'x'.repeat(100))
      expect(codeOf(() => ws.files.read('big', { maxBytes: 99 }))).toBe('file_too_large')
      expect(ws.files.read('big', { maxBytes: 100 })).toHaveLength(100)
      expect(ws.files.read('big', { maxBytes: 10, offset: 90 })).toHaveLength(10)
      fs.truncateSync(ws.path('big'), 2 ** 40)
      expect(codeOf(() => ws.files.read('big'))).toBe('file_too_large')
      expect(ws.files.read('big', { offset: 2 ** 39, length: 4 })).toEqual(Buffer.alloc(4))
    })

    test('says what is wrong', () => {
      ws.put('file')
      fs.mkdirSync(ws.path('dir'))
      fs.symlinkSync('loop', ws.path('loop'))
      const codes = ['none', 'none/x', 'file/x', 'file/', 'dir', '', 'loop', 'loop/x', '../x'].map((path) =>
        codeOf(() => text(path)),
      )
      expect(codes).toEqual([
        'file_not_found',
        'file_not_found',
        'not_a_directory',
        'not_a_directory',
        'not_a_file',
        'invalid_path',
        'cannot_resolve_symlinks',
        'cannot_resolve_symlinks',
        'path_traversal_attempt',
      ])
      expect(codeOf(() => ws.files.read('file', { offset: -1 }))).toBe('invalid_input')
    })

    test('never waits for a pipe and never opens a socket', () => {
      execFileSync('mkfifo', [ws.path('pipe')])
      expect(codeOf(() => text('pipe'))).toBe('not_a_file')
    })

    test('follows links that stay inside', () => {
      ws.put('d/file', 'content')
      fs.symlinkSync('d', ws.path('to-dir'))
      fs.symlinkSync('../d/./file', ws.path('d/to-file'))
      fs.symlinkSync(ws.path('d/file'), ws.path('absolute'))
      fs.symlinkSync('/mnt/workspace/d', ws.path('public'))
      fs.symlinkSync('d/', ws.path('slash'))
      for (const path of ['to-dir/file', 'd/to-file', 'absolute', 'public/file', 'slash/file', 'to-dir/../d/file']) {
        expect(text(path)).toBe('content')
      }
      expect(codeOf(() => text('to-dir/none'))).toBe('file_not_found')
    })

    test('does not follow those that leave', () => {
      fs.writeFileSync(ws.outside('secret'), 'secret')
      fs.symlinkSync('../secret', ws.path('relative'))
      fs.symlinkSync(ws.outside('secret'), ws.path('absolute'))
      fs.symlinkSync('..', ws.path('up'))
      fs.symlinkSync('nowhere/../..', ws.path('broken'))
      fs.mkdirSync(ws.path('d'))
      fs.symlinkSync('.', ws.path('d/root'))
      expect(codeOf(() => text('relative'))).toBe('symlink_outside_workspace')
      expect(codeOf(() => text('absolute'))).toBe('symlink_outside_workspace')
      expect(codeOf(() => text('up/secret'))).toBe('symlink_outside_workspace')
      expect(codeOf(() => text('broken/secret'))).toBe('file_not_found')
      expect(codeOf(() => ws.files.stat('up'))).toBe('symlink_outside_workspace')
    })

    test('a caller cannot climb out through a link either', () => {
      fs.mkdirSync(ws.path('d'))
      fs.symlinkSync('..', ws.path('d/root'))
      expect(codeOf(() => text('d/root/../secret'))).toBe('path_traversal_attempt')
    })

    test('takes absolute paths as asked', () => {
      ws.put('file', 'content')
      expect(text(ws.path('file'))).toBe('content')
      expect(text('/mnt/workspace/file')).toBe('content')
      expect(codeOf(() => text('/etc/passwd'))).toBe('path_outside_workspace')
      expect(codeOf(() => ws.files.read(ws.path('file'), { absolute: 'reject' }))).toBe('absolute_path_not_allowed')
      expect(ws.files.stat('/file', { absolute: 'rebase' })).toMatchObject({ path: 'file', rebased: true })
    })
  })

  describe('write', () => {
    test('makes a file, and the directories above it', () => {
      expect(ws.files.write('a/b/c', 'text')).toMatchObject({ path: 'a/b/c', kind: 'file', size: 4, links: 1 })
      expect(ws.get('a/b/c')).toBe('text')
      expect(codeOf(() => ws.files.write('x/y', '', { parents: false }))).toBe('file_not_found')
      expect(fs.readdirSync(ws.path('a/b'))).toEqual(['c'])
      ws.files.write('bytes', new Uint8Array([0, 255]), { durable: true })
      expect(fs.readFileSync(ws.path('bytes'))).toEqual(Buffer.from([0, 255]))
      expect(codeOf(() => ws.files.write('no', 7 as never))).toBe('invalid_input')
    })

    test('does not replace when told not to', () => {
      ws.files.write('file', 'one', { existing: 'error' })
      expect(codeOf(() => ws.files.write('file', 'two', { existing: 'error' }))).toBe('file_exists')
      expect(ws.get('file')).toBe('one')
    })

    test('refuses what is not a regular file', () => {
      fs.mkdirSync(ws.path('dir'))
      execFileSync('mkfifo', [ws.path('pipe')])
      expect(codeOf(() => ws.files.write('dir', ''))).toBe('not_a_file')
      expect(codeOf(() => ws.files.write('pipe', ''))).toBe('not_a_file')
      expect(codeOf(() => ws.files.write('new/', ''))).toBe('not_a_file')
      expect(codeOf(() => ws.files.write('', ''))).toBe('invalid_path')
      expect(fs.readdirSync(ws.path()).sort()).toEqual(['dir', 'pipe'])
    })

    test('goes through a link that stays inside, and leaves the link', () => {
      ws.put('d/target', 'old')
      fs.symlinkSync('d/target', ws.path('link'))
      fs.symlinkSync('d/new', ws.path('dangling'))
      ws.files.write('link', 'new')
      ws.files.write('dangling', 'made')
      expect(fs.readlinkSync(ws.path('link'))).toBe('d/target')
      expect([ws.get('d/target'), ws.get('d/new')]).toEqual(['new', 'made'])
    })

    test('does not go through one that leaves', () => {
      fs.writeFileSync(ws.outside('victim'), 'safe')
      fs.symlinkSync('../victim', ws.path('link'))
      fs.symlinkSync('../new', ws.path('dangling'))
      fs.symlinkSync('..', ws.path('up'))
      for (const path of ['link', 'dangling', 'up/new', 'up/new/deep']) {
        expect(codeOf(() => ws.files.write(path, 'x'))).toBe('symlink_outside_workspace')
      }
      expect(fs.readFileSync(ws.outside('victim'), 'utf8')).toBe('safe')
      expect(fs.readdirSync(ws.base).sort()).toEqual(['victim', 'ws'])
    })

    test('leaves other names of the same file alone, and so does append', () => {
      fs.writeFileSync(ws.outside('victim'), 'safe')
      fs.linkSync(ws.outside('victim'), ws.path('one'))
      fs.linkSync(ws.outside('victim'), ws.path('two'))
      ws.files.write('one', 'changed')
      ws.files.append('two', ' and more')
      expect(fs.readFileSync(ws.outside('victim'), 'utf8')).toBe('safe')
      expect([ws.get('one'), ws.get('two')]).toEqual(['changed', 'safe and more'])
    })

    test('keeps mode, owner and attributes of what it replaces', () => {
      ws.put('script')
      const fd = fs.openSync(ws.path('script'), 'r+')
      // An ACL that lets uid 7 read: version 2; then tag, permissions, id for each entry.
      const acl = Buffer.from(
        '0200000001000600ffffffff020004000700000004000400ffffffff10000400ffffffff20000000ffffffff',
        'hex',
      )
      native()?.fsetxattr(fd, 'user.note', Buffer.from('mine'))
      native()?.fsetxattr(fd, 'system.posix_acl_access', acl)
      fs.fchownSync(fd, 1234, 2345)
      fs.fchmodSync(fd, 0o4750)
      const before = native()?.fgetxattr(fd, 'system.posix_acl_access')
      fs.closeSync(fd)
      expect(ws.files.write('script', 'new')).toMatchObject({ mode: 0o750, uid: 1234, gid: 2345 })
      const now = fs.openSync(ws.path('script'), 'r')
      expect(native()?.fgetxattr(now, 'user.note').toString()).toBe('mine')
      expect(native()?.fgetxattr(now, 'system.posix_acl_access')).toEqual(before)
      fs.closeSync(now)
      expect(ws.files.write('script', 'newer', { mode: 0o600 }).mode & 0o707).toBe(0o600)
    })

    test("what root makes belongs to the directory's owner", () => {
      fs.chownSync(ws.path(), 1234, 2345)
      fs.chmodSync(ws.path(), 0o2755)
      expect(ws.files.write('a/b', '')).toMatchObject({ uid: 1234, gid: 2345 })
      expect(ws.files.mkdir('m')).toMatchObject({ uid: 1234, gid: 2345, mode: 0o2755 })
      expect(ws.files.stat('a')).toMatchObject({ uid: 1234, gid: 2345 })
      expect(ws.files.copy('a', 'c', { recursive: true })).toMatchObject({ uid: 1234 })
      expect(ws.files.stat('c/b')).toMatchObject({ uid: 1234, gid: 2345 })
    })

    test('appends, making the file if need be', () => {
      ws.files.append('log', 'one\n')
      const { ino } = fs.statSync(ws.path('log'))
      expect(ws.files.append('log', 'two\n', { durable: true }).size).toBe(8)
      expect(ws.get('log')).toBe('one\ntwo\n')
      expect(fs.statSync(ws.path('log')).ino).toBe(ino)
    })
  })

  describe('list', () => {
    test('is in the order of bytes, page by page', () => {
      const names = ['b', 'a', 'Z', 'é', '\uffee', '😀', 'a.txt']
      for (const name of names) ws.put(name)
      const expected = names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect(ws.files.list('').entries.map((entry) => entry.path)).toEqual(expected)
      const seen: string[] = []
      for (let after: string | null | undefined; after !== null;) {
        const page = ws.files.list('.', { limit: 2, after })
        seen.push(...page.entries.map((entry) => entry.path))
        after = page.next
      }
      expect(seen).toEqual(expected)
    })

    test('names that are not UTF-8 end a listing like others', () => {
      for (const byte of [0xfe, 0xff])
        fs.writeFileSync(Buffer.concat([Buffer.from(ws.path('x')), Buffer.from([byte])]), '')
      ws.put('y')
      const first = ws.files.list('', { limit: 1 })
      expect(first.entries.map((entry) => entry.path)).toEqual(['x\ufffd', 'x\ufffd'])
      expect(ws.files.list('', { limit: 1, after: first.next ?? '' }).entries.map((entry) => entry.path)).toEqual(['y'])
    })

    test('shows links and does not follow them', () => {
      ws.put('d/file')
      fs.symlinkSync('d', ws.path('in'))
      fs.symlinkSync('/etc', ws.path('out'))
      fs.symlinkSync('none', ws.path('dangling'))
      fs.symlinkSync('loop', ws.path('loop'))
      const links = ws.files.list('').entries.filter((entry) => entry.kind === 'symlink')
      expect(links.map((entry) => [entry.path, entry.target, entry.escapes])).toEqual([
        ['dangling', 'none', false],
        ['in', 'd', false],
        ['loop', 'loop', true],
        ['out', '/etc', true],
      ])
      expect(ws.files.list('in').entries.map((entry) => entry.path)).toEqual(['in/file'])
      expect(codeOf(() => ws.files.list('out'))).toBe('symlink_outside_workspace')
      expect(codeOf(() => ws.files.list('d/file'))).toBe('not_a_directory')
      expect(codeOf(() => ws.files.list('', { limit: 0 }))).toBe('invalid_input')
    })
  })

  describe('tree', () => {
    test('lists everything, a directory before what is in it', () => {
      for (const path of ['b/x/1', 'b/2', 'a', 'b.c', '__proto__/é']) ws.put(path)
      fs.symlinkSync('/', ws.path('root'))
      execFileSync('mkfifo', [ws.path('pipe')])
      const { entries, truncated, unreadable } = ws.files.tree('')
      expect(entries.map((entry) => `${entry.kind} ${entry.path}`)).toEqual([
        'directory __proto__',
        'file __proto__/é',
        'file a',
        'directory b',
        'file b/2',
        'directory b/x',
        'file b/x/1',
        'file b.c',
        'fifo pipe',
        'symlink root',
      ])
      expect([truncated, unreadable]).toEqual([false, []])
      expect(ws.files.tree('b/x').entries).toEqual([{ path: '1', kind: 'file' }])
    })

    test('stops at its limits and says so', () => {
      for (const path of ['a/b/c/d', 'e']) ws.put(path)
      expect(ws.files.tree('', { maxEntries: 2 })).toMatchObject({ truncated: true, entries: { length: 2 } })
      expect(ws.files.tree('', { maxEntries: 5 })).toMatchObject({ truncated: false, entries: { length: 5 } })
      expect(ws.files.tree('', { maxDepth: 1 }).entries.map((entry) => entry.path)).toEqual(['a', 'e'])
      expect(ws.files.tree('', { maxDepth: 1 }).truncated).toBe(true)
      expect(ws.files.tree('', { maxDepth: 4 }).truncated).toBe(false)
    })

    test('a directory whose name is not UTF-8 is reported, not entered', () => {
      const dir = Buffer.concat([Buffer.from(ws.path('x')), Buffer.from([0xff])])
      fs.mkdirSync(dir)
      fs.writeFileSync(Buffer.concat([dir, Buffer.from('/f')]), '')
      expect(ws.files.tree('')).toEqual({
        entries: [{ path: 'x\ufffd', kind: 'directory' }],
        truncated: false,
        unreadable: ['x\ufffd'],
      })
    })
  })

  describe('stat and resolve', () => {
    test('stat follows unless told not to', () => {
      ws.put('file', 'abc')
      fs.symlinkSync('file', ws.path('link'))
      expect(ws.files.stat('link')).toMatchObject({ path: 'link', kind: 'file', size: 3 })
      expect(ws.files.stat('link', { follow: false })).toMatchObject({
        kind: 'symlink',
        target: 'file',
        escapes: false,
      })
      expect(ws.files.stat('')).toMatchObject({ path: '', kind: 'directory' })
      expect(codeOf(() => ws.files.stat('link/', { follow: false }))).toBe('not_a_directory')
      fs.mkdirSync(ws.path('d'))
      expect(ws.files.stat('d/../link')).toMatchObject({ path: 'file', kind: 'file' })
    })

    test('resolve tells where a path leads, there or not', () => {
      ws.put('a/b/file')
      fs.symlinkSync('a/b', ws.path('link'))
      const lead = (path: string) => ws.files.resolve(path)
      expect(lead('link/file')).toEqual({ path: 'a/b/file', exists: true, rebased: false })
      expect(lead('link/../x')).toEqual({ path: 'a/x', exists: false, rebased: false })
      expect(lead('link/new/./deep/../er')).toEqual({ path: 'a/b/new/er', exists: false, rebased: false })
      expect(lead('')).toEqual({ path: '', exists: true, rebased: false })
      expect(ws.files.resolve('/etc/x', { absolute: 'rebase' })).toEqual({
        path: 'etc/x',
        exists: false,
        rebased: true,
      })
      expect(codeOf(() => lead('none/../../x'))).toBe('path_traversal_attempt')
      expect(codeOf(() => ws.files.resolve('/etc/../../x', { absolute: 'rebase' }))).toBe('path_traversal_attempt')
    })
  })

  describe('mkdir', () => {
    test('makes one, or all that are missing', () => {
      expect(ws.files.mkdir('a', { mode: 0o700 })).toMatchObject({ path: 'a', kind: 'directory', mode: 0o700 })
      expect(codeOf(() => ws.files.mkdir('a'))).toBe('file_exists')
      expect(codeOf(() => ws.files.mkdir('x/y'))).toBe('file_not_found')
      expect(ws.files.mkdir('x/y/', { parents: true }).path).toBe('x/y')
      expect(ws.files.mkdir('x/y', { parents: true }).kind).toBe('directory')
      ws.put('file')
      expect(codeOf(() => ws.files.mkdir('file', { parents: true }))).toBe('file_exists')
      expect(codeOf(() => ws.files.mkdir('file/x', { parents: true }))).toBe('not_a_directory')
    })
  })

  describe('rename', () => {
    test('moves, and replaces only what it may', () => {
      ws.put('a', 'a')
      ws.put('b', 'b')
      ws.put('d/e')
      fs.mkdirSync(ws.path('empty'))
      expect(codeOf(() => ws.files.rename('a', 'b'))).toBe('file_exists')
      expect(codeOf(() => ws.files.rename('a', 'd', { replace: true }))).toBe('file_exists')
      expect(codeOf(() => ws.files.rename('d', 'empty', { replace: true }))).toBe('file_exists')
      expect(codeOf(() => ws.files.rename('d', 'a', { replace: true }))).toBe('file_exists')
      expect(codeOf(() => ws.files.rename('d', 'd/e/f'))).toBe('not_a_directory')
      expect(codeOf(() => ws.files.rename('d', 'd/f'))).toBe('invalid_path')
      expect(codeOf(() => ws.files.rename('none', 'x'))).toBe('file_not_found')
      expect(codeOf(() => ws.files.rename('a', 'no/x'))).toBe('file_not_found')
      expect(ws.files.rename('a', 'b', { replace: true })).toMatchObject({ path: 'b', size: 1 })
      expect(ws.files.rename('d', 'new/d', { parents: true }).kind).toBe('directory')
      expect(ws.get('b')).toBe('a')
      expect(ws.get('new/d/e')).toBe('')
    })

    test('renames a link, not its target', () => {
      ws.put('file', 'x')
      fs.symlinkSync('file', ws.path('link'))
      expect(ws.files.rename('link', 'other').kind).toBe('symlink')
      expect(fs.readlinkSync(ws.path('other'))).toBe('file')
      expect(codeOf(() => ws.files.rename('other/', 'z'))).toBe('not_a_directory')
    })
  })

  describe('copy', () => {
    test('a file', () => {
      ws.put('a', 'content')
      fs.chmodSync(ws.path('a'), 0o754)
      expect(ws.files.copy('a', 'x/b', { parents: true })).toMatchObject({ path: 'x/b', mode: 0o754, size: 7 })
      expect(codeOf(() => ws.files.copy('a', 'x/b'))).toBe('file_exists')
      ws.put('x/b', 'old')
      expect(ws.files.copy('a', 'x/b', { replace: true }).size).toBe(7)
    })

    test('a directory, links as links', () => {
      ws.put('d/sub/file', 'content')
      ws.put('d/locked/file')
      fs.symlinkSync('/etc/passwd', ws.path('d/link'))
      fs.chmodSync(ws.path('d/locked'), 0o555)
      fs.writeFileSync(Buffer.concat([Buffer.from(ws.path('d/x')), Buffer.from([0xff])]), 'odd')
      expect(codeOf(() => ws.files.copy('d', 'e'))).toBe('not_a_file')
      expect(ws.files.copy('d', 'e', { recursive: true }).kind).toBe('directory')
      expect(ws.get('e/sub/file')).toBe('content')
      expect(fs.readlinkSync(ws.path('e/link'))).toBe('/etc/passwd')
      expect(fs.statSync(ws.path('e/locked')).mode & 0o777).toBe(0o555)
      expect(fs.readdirSync(ws.path('e'), 'latin1')).toContain('x\xff')
      expect(codeOf(() => ws.files.copy('d', 'e', { recursive: true, replace: true }))).toBe('file_exists')
      expect(codeOf(() => ws.files.copy('d', 'd/sub/d', { recursive: true }))).toBe('invalid_path')
      expect(fs.readdirSync(ws.path()).sort()).toEqual(['d', 'e'])
    })

    test('what cannot be copied leaves nothing behind', () => {
      ws.put('d/file')
      execFileSync('mkfifo', [ws.path('d/pipe')])
      expect(codeOf(() => ws.files.copy('d', 'e', { recursive: true }))).toBe('not_a_file')
      expect(fs.readdirSync(ws.path())).toEqual(['d'])
    })

    test('a link', () => {
      ws.put('file', 'x')
      fs.symlinkSync('/etc/passwd', ws.path('link'))
      expect(ws.files.copy('link', 'two')).toMatchObject({ kind: 'symlink', escapes: true })
      expect(ws.files.copy('file', 'two', { replace: true }).kind).toBe('file')
      expect(codeOf(() => ws.files.copy('link', 'two'))).toBe('file_exists')
    })
  })

  describe('remove', () => {
    test('a file, a link, an empty directory, a tree', () => {
      ws.put('d/sub/file')
      ws.put('file')
      fs.symlinkSync('d', ws.path('link'))
      fs.mkdirSync(ws.path('empty'))
      expect(ws.files.remove('file')).toEqual({ removed: true })
      expect(ws.files.remove('link')).toEqual({ removed: true })
      expect(ws.files.remove('empty/')).toEqual({ removed: true })
      expect(codeOf(() => ws.files.remove('d'))).toBe('directory_not_empty')
      expect(ws.files.remove('d', { recursive: true })).toEqual({ removed: true })
      expect(codeOf(() => ws.files.remove('d'))).toBe('file_not_found')
      expect(ws.files.remove('d/x/y', { missing: 'ignore' })).toEqual({ removed: false })
      expect(codeOf(() => ws.files.remove('', { recursive: true }))).toBe('invalid_path')
    })

    test('never what a link leads to', () => {
      fs.mkdirSync(ws.outside('victim'))
      fs.writeFileSync(ws.outside('victim/file'), '')
      ws.put('d/file')
      fs.symlinkSync('../../victim', ws.path('d/out'))
      fs.symlinkSync('d', ws.path('link'))
      expect(codeOf(() => ws.files.remove('link/', { recursive: true }))).toBe('not_a_directory')
      expect(codeOf(() => ws.files.remove('d/out/file'))).toBe('symlink_outside_workspace')
      ws.files.remove('d', { recursive: true })
      expect(fs.readdirSync(ws.outside('victim'))).toEqual(['file'])
    })
  })

  test('descriptors are closed whatever happens', () => {
    ws.put('a/b/c/file')
    fs.symlinkSync('a/b', ws.path('link'))
    fs.symlinkSync('/etc', ws.path('out'))
    const { files } = ws
    const before = openDescriptors()
    for (const path of ['a/b/c/file', 'link/c/file', 'out/passwd', 'none/x', 'a', '', '../x', 'link/../../../x']) {
      codeOf(() => files.read(path))
      codeOf(() => files.write(path, ''))
      codeOf(() => files.list(path))
      codeOf(() => files.tree(path))
      codeOf(() => files.stat(path, { follow: false }))
      codeOf(() => files.copy(path, 'copy', { recursive: true }))
      codeOf(() => files.remove('copy', { recursive: true }))
      codeOf(() => files.rename(path, 'out/x'))
      codeOf(() => files.resolve(path))
    }
    expect(openDescriptors()).toBe(before)
  })

  test('a closed handle is of no use', () => {
    const files = openRoot(ws.path(), { resolver })
    files[Symbol.dispose]()
    files[Symbol.dispose]()
    expect(codeOf(() => files.list(''))).toBe('internal')
  })
})

test('the environment chooses the resolver', () => {
  const before = process.env['AW_RESOLVER']
  try {
    process.env['AW_RESOLVER'] = 'neither'
    expect(codeOf(() => openRoot('/'))).toBe('invalid_config')
    expect(codeOf(() => openRoot('/', { resolver: 'walk' })[Symbol.dispose]())).toBe('ok')
  } finally {
    if (before === undefined) delete process.env['AW_RESOLVER']
    else process.env['AW_RESOLVER'] = before
  }
  expect(codeOf(() => openRoot('/nowhere/at/all'))).toBe('file_not_found')
})
