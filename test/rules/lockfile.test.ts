/** The lock file names packages by version and hash, never by an address: it has to work behind any registry. */
import { expect, test } from 'vitest'
import { findAll, readOne, type SourceFile } from './source-tree.ts'

const addresses = (file: SourceFile): string[] =>
  findAll(file, /"resolved":\s*"(?:https?|git\S*):/g, 'a download address')

test('package-lock.json holds no download address', () => {
  const lock = readOne('package-lock.json')
  expect(Object.keys((JSON.parse(lock.text) as { packages: object }).packages).length).toBeGreaterThan(20)
  expect(addresses(lock)).toEqual([])
})

test('the rule finds an address', () => {
  const text = '{\n  "resolved": "https://registry.example/a/-/a-1.0.0.tgz"\n}'
  expect(addresses({ path: 'package-lock.json', text })).toEqual(['package-lock.json:2: a download address'])
})
