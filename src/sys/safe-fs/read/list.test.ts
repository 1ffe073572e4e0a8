import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../../test/attacks/workspace.ts'

describe.each(['openat2', 'walk'] as const)('listing, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace' })

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
        ['loop', 'loop', false],
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
})
