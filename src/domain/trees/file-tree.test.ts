import { expect, test } from 'vitest'
import { nest } from './file-tree.ts'

test('nests files and directories, leaves the rest out', () => {
  const tree = nest([
    { path: 'a', kind: 'directory' },
    { path: 'a/b', kind: 'file' },
    { path: 'empty', kind: 'directory' },
    { path: 'link', kind: 'symlink' },
    { path: 'pipe', kind: 'fifo' },
  ])
  expect(JSON.parse(JSON.stringify(tree))).toEqual({ a: { b: 'file' }, empty: {} })
})

test('names that mean something to JavaScript are names', () => {
  const tree = nest([
    { path: '__proto__', kind: 'directory' },
    { path: '__proto__/polluted', kind: 'file' },
    { path: 'constructor', kind: 'file' },
  ])
  expect(JSON.stringify(tree)).toBe('{"__proto__":{"polluted":"file"},"constructor":"file"}')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('a parent that was not listed is made', () => {
  expect(JSON.stringify(nest([{ path: 'a/b/c', kind: 'file' }]))).toBe('{"a":{"b":{"c":"file"}}}')
})
