import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../../test/attacks/workspace.ts'

describe.each(['openat2', 'walk'] as const)('remove, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace' })

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
