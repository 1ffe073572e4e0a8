import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyTree } from './tree.ts'
import { newFolderIndex, readFolderIndex } from '../trees/folder-index.ts'

let base: string
const source = (name = ''): string => join(base, 'source', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-replaced-'))
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

/** Another directory in the place of one, and what it is to have of what was in one before. */
function replaceDirectory(name: string, moved: readonly string[]): void {
  fs.renameSync(source(name), join(base, `old ${name}`))
  fs.mkdirSync(source(name))
  for (const path of moved) fs.renameSync(join(base, `old ${path}`), source(join(name, path.replace(/.*\//, ''))))
}

/** It is asked about what the program has left, and about a pipe at the top first. */
function meanwhile(replace: () => void): Set<string> {
  let isReplaced = false
  return Object.assign(new Set<string>(), {
    has() {
      if (!isReplaced) replace()
      isReplaced = true
      return false
    },
  })
}

test.each<[string, () => void, Record<string, string>]>([
  [
    'by one with its files of several names',
    () => replaceDirectory('twins', ['twins/one', 'twins/other']),
    { 'twins/one': 'twin', 'twins/other': 'twin', 'deep/sub/file': 'below' },
  ],
  [
    'by one with a directory of it',
    () => replaceDirectory('deep', ['deep/sub']),
    { 'twins/one': 'twin', 'twins/other': 'twin', 'deep/sub/file': 'below' },
  ],
  [
    'by a file, and its files moved into another',
    () => {
      replaceDirectory('twins', [])
      replaceDirectory('deep', ['twins/one', 'twins/other'])
      fs.rmdirSync(source('twins'))
      fs.writeFileSync(source('twins'), 'a file')
    },
    { 'deep/one': 'twin', 'deep/other': 'twin', twins: 'a file' },
  ],
])('a directory that is replaced after most of it was copied is copied anew: %s', async (_, replace, expected) => {
  for (const name of ['deep/sub', 'twins']) fs.mkdirSync(source(name), { recursive: true })
  for (const name of ['pipe', 'deep/pipe', 'deep/sub/pipe', 'twins/pipe']) execFileSync('mkfifo', [source(name)])
  fs.writeFileSync(source('twins/one'), 'twin')
  fs.linkSync(source('twins/one'), source('twins/other'))
  fs.writeFileSync(source('deep/sub/file'), 'below')
  const copy = join(base, 'copy')
  await copyTree(source(), copy, { guarded: meanwhile(replace) })
  const copied = fs.readdirSync(copy, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = copied.map(({ parentPath, name }) => join(parentPath, name))
  const contents = paths.map((path) => [path.slice(copy.length + 1), fs.readFileSync(path, 'utf8')])
  expect(Object.fromEntries(contents)).toEqual(expected)
  const twins = paths.filter((path) => fs.readFileSync(path, 'utf8') === 'twin')
  expect(new Set(twins.map((path) => fs.statSync(path).ino)).size).toBe(1)
})

test('of a directory that is empty in the end, nothing is remembered', async () => {
  fs.mkdirSync(source('deep/whole'), { recursive: true })
  for (const name of ['pipe', 'deep/pipe']) execFileSync('mkfifo', [source(name)])
  fs.writeFileSync(source('deep/whole/file'), 'in it')
  const copy = join(base, 'copy')
  const index = newFolderIndex(base, 'index')
  const replace = (): void => {
    replaceDirectory('deep', [])
    fs.mkdirSync(source('deep/whole'))
  }
  await copyTree(source(), copy, { guarded: meanwhile(replace), flushedAt: Date.now() + 3_600_000, index })
  await index.write()
  expect(fs.readdirSync(join(copy, 'deep/whole'))).toEqual([])
  fs.rmdirSync(source('deep/whole'))
  fs.renameSync(join(base, 'old deep/whole'), source('deep/whole'))
  await copyTree(source(), copy, { before: await readFolderIndex(base, 'index') })
  expect(fs.readdirSync(join(copy, 'deep/whole'))).toEqual(['file'])
})
