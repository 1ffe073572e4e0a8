import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../test/attacks/workspace.ts'
import { openRoot } from './index.ts'

describe.each(['openat2', 'walk'] as const)('a protected name, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, protect: ['.aw'] })

  function changes(path: string): string[] {
    return [
      codeOf(() => ws.files.write(`${path}/state`, 'changed')),
      codeOf(() => ws.files.append(`${path}/state`, 'changed')),
      codeOf(() => ws.files.mkdir(`${path}/new`)),
      codeOf(() => ws.files.mkdir(`${path}/new/deep`, { parents: true })),
      codeOf(() => ws.files.remove(`${path}/state`)),
      codeOf(() => ws.files.rename(`${path}/state`, 'out')),
      codeOf(() => ws.files.rename('file', `${path}/in`)),
      codeOf(() => ws.files.copy('file', `${path}/in`)),
    ]
  }

  const allProtected = Array.from({ length: 8 }, () => 'path_protected')

  function prepare(): void {
    ws.put('.aw/state', 'ours')
    ws.put('file', 'theirs')
  }

  test('can be read and copied from, not changed', () => {
    prepare()
    expect(ws.files.read('.aw/state').toString()).toBe('ours')
    expect(ws.files.copy('.aw', 'copy', { recursive: true }).kind).toBe('directory')
    expect(changes('.aw')).toEqual(allProtected)
  })

  test('is not replaced, moved or removed itself', () => {
    prepare()
    for (const name of ['.aw', '.AW', '.aw.']) {
      expect(codeOf(() => ws.files.rename('file', name, { replace: true }))).toBe('path_protected')
      expect(codeOf(() => ws.files.copy('file', name, { replace: true }))).toBe('path_protected')
      expect(codeOf(() => ws.files.mkdir(name, { parents: true }))).toBe('path_protected')
      expect(codeOf(() => ws.files.remove(name, { recursive: true, missing: 'ignore' }))).toBe('path_protected')
    }
    expect(codeOf(() => ws.files.rename('.aw', 'away'))).toBe('path_protected')
    expect(fs.readdirSync(ws.path()).sort()).toEqual(['.aw', 'file'])
  })

  test('is known by the object, wherever it was moved to', () => {
    prepare()
    ws.files.stat('.aw')
    fs.mkdirSync(ws.path('d'))
    fs.renameSync(ws.path('.aw'), ws.path('d/moved'))
    expect(changes('d/moved')).toEqual(allProtected)
    fs.symlinkSync('d/moved', ws.path('link'))
    expect(changes('link')).toEqual(allProtected)
  })

  test('is guarded before it exists', () => {
    ws.put('file')
    fs.symlinkSync('.aw', ws.path('link'))
    for (const path of ['.aw', '.aw/deep/file', '.Aw', 'link']) {
      expect(codeOf(() => ws.files.write(path, ''))).toBe('path_protected')
    }
    expect(fs.readdirSync(ws.path()).sort()).toEqual(['file', 'link'])
  })

  test('is one directly below the root, not deeper', () => {
    expect(codeOf(() => ws.files.write('d/.aw/file', ''))).toBe('ok')
    expect(codeOf(() => ws.files.write('.awk', ''))).toBe('ok')
  })
})

describe.each(['openat2', 'walk'] as const)('a path that is held, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, protect: ['.aw'] })

  test('is not changed where it is, nor what is below it, by whatever name', () => {
    ws.put('work/.git/hooks/sample', 'theirs')
    ws.put('work/.mcp.json', 'theirs')
    fs.symlinkSync('work/.git', ws.path('link'))
    using files = openRoot(ws.path(), {
      resolver,
      protect: ['.aw'],
      hold: ['work/.git/hooks', 'work/.mcp.json', 'none'],
    })
    for (const path of ['work/.git/hooks/new', 'link/hooks/sample', 'work/.mcp.json', 'work/../link/hooks'])
      expect([path, codeOf(() => files.write(path, ''))]).toEqual([path, 'path_protected'])
    expect(codeOf(() => files.write('work/.git/config', ''))).toBe('ok')
    expect(codeOf(() => files.write('none', ''))).toBe('ok')
    expect(files.read('work/.mcp.json').toString()).toBe('theirs')
  })
})
