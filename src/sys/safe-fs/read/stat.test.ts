import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../../test/attacks/workspace.ts'

describe.each(['openat2', 'walk'] as const)('stat, resolve, mkdir, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace' })

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
      const stay = (path: string) => ws.files.resolve(path, { follow: false })
      fs.symlinkSync('/etc/passwd', ws.path('a/b/out'))
      expect(stay('link')).toEqual({ path: 'link', exists: true, rebased: false })
      expect(stay('link/out')).toEqual({ path: 'a/b/out', exists: true, rebased: false })
      expect(['link/', 'link/.', 'link/../b'].map((path) => stay(path).path)).toEqual(['a/b', 'a/b', 'a/b'])
      expect(codeOf(() => stay('link/out/'))).toBe('symlink_outside_workspace')
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
})
