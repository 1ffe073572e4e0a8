import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../../test/attacks/workspace.ts'

describe.each(['openat2', 'walk'] as const)('rename and copy, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace' })

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
      expect(codeOf(() => ws.files.rename('d/..', 'x'))).toBe('invalid_path')
      expect(codeOf(() => ws.files.rename('a', 'd/..', { replace: true }))).not.toBe('ok')
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

    test('holes stay holes', () => {
      ws.put('sparse', 'start')
      fs.truncateSync(ws.path('sparse'), 2 ** 40)
      const fd = fs.openSync(ws.path('sparse'), 'r+')
      fs.writeSync(fd, 'middle', 2 ** 39)
      fs.closeSync(fd)
      expect(ws.files.copy('sparse', 'copy').size).toBe(2 ** 40)
      expect(fs.statSync(ws.path('copy')).blocks).toBeLessThan(100)
      expect(ws.files.read('copy', { offset: 2 ** 39, length: 6 }).toString()).toBe('middle')
      expect(ws.files.read('copy', { length: 6 }).toString()).toBe('start\0')
    })

    test('a link', () => {
      ws.put('file', 'x')
      fs.symlinkSync('/etc/passwd', ws.path('link'))
      expect(ws.files.copy('link', 'two')).toMatchObject({ kind: 'symlink', escapes: true })
      expect(ws.files.copy('file', 'two', { replace: true }).kind).toBe('file')
      expect(codeOf(() => ws.files.copy('link', 'two'))).toBe('file_exists')
    })
  })
})
