import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../../test/attacks/workspace.ts'
import { native } from '../../syscalls/native.ts'

describe.each(['openat2', 'walk'] as const)('write, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace' })

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

  test('many processes append to one new file, and no line is lost', async () => {
    const script = `
      import { openRoot } from ${JSON.stringify(join(import.meta.dirname, '../index.ts'))}
      const files = openRoot(${JSON.stringify(ws.path())}, { resolver: ${JSON.stringify(resolver)} })
      for (let n = 0; n < 50; n++) files.append('log/' + n, process.pid + '\\n')`
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' }),
    )
    await Promise.all(children.map((child) => once(child, 'exit')))
    const lines = fs.readdirSync(ws.path('log')).map((name) => ws.get(`log/${name}`).trimEnd().split('\n').length)
    expect(lines).toEqual(Array.from({ length: 50 }, () => 4))
  })

  test('appends, making the file if need be', () => {
    ws.files.append('log', 'one\n')
    const { ino } = fs.statSync(ws.path('log'))
    expect(ws.files.append('log', 'two\n', { durable: true }).size).toBe(8)
    expect(ws.get('log')).toBe('one\ntwo\n')
    expect(fs.statSync(ws.path('log')).ino).toBe(ino)
  })
})
