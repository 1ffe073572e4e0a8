import * as fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import { codeOf, openDescriptors, useWorkspace } from '../../../test/attacks/workspace.ts'
import { openRoot } from './index.ts'

describe.each(['openat2', 'walk'] as const)('a handle, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace' })

  test('descriptors are closed whatever happens', () => {
    ws.put('a/b/c/file')
    fs.symlinkSync('a/b', ws.path('link'))
    fs.symlinkSync('/etc', ws.path('out'))
    const { files } = ws
    // The first read opens the one that is kept.
    files.read('a/b/c/file')
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
