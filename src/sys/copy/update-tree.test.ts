import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { importFolder } from '../../drivers/storage/root/import.ts'
import { copyTree } from './tree.ts'
import type { FolderIndex, IndexWriter } from '../trees/folder-index.ts'
import type { StatFingerprint } from '../trees/stat.ts'

let base: string
const source = (name = ''): string => join(base, 'source', name)
const copy = (name = ''): string => join(base, 'copy', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-update-'))
  fs.mkdirSync(source())
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

type Seen = Map<string, Map<string, StatFingerprint>>

const longAgo = 0
const muchLater = Date.now() + 3_600_000

/** In memory, so that tests can change what is known. */
function index(): IndexWriter & FolderIndex & { readonly seen: Seen } {
  const seen: Seen = new Map()
  let top = ''
  return {
    seen,
    add: (directory, names, prints) =>
      void seen.set(directory, new Map(names.map((name, i) => [name, prints[i] ?? '']))),
    addTop: (print) => (top = print),
    write: async () => undefined,
    get top() {
      return top
    },
    below: (directory) => new Map(seen.get(directory)),
  }
}

/** Names of one file get one number. */
const tree = (top: string): Record<string, string> =>
  Object.fromEntries(
    fs
      .readdirSync(top, { recursive: true, encoding: 'utf8' })
      .toSorted()
      .map((name) => {
        const stat = fs.lstatSync(join(top, name))
        const content = stat.isFile() ? fs.readFileSync(join(top, name), 'utf8') : 'directory'
        return [name, `${content} ${stat.nlink} ${stat.mtimeMs}`]
      }),
  )

describe('what was changed too late to be told from a later change', () => {
  test.each([
    ['is copied again', longAgo, 4],
    ['and what was not, stays', muchLater, 0],
  ])('%s', async (_, flushedAt, changed) => {
    fs.mkdirSync(source('d'))
    for (const name of ['a', 'd/b']) fs.writeFileSync(source(name), name)
    const known = index()
    await copyTree(source(), copy(), { index: known, flushedAt })
    expect(await copyTree(source(), copy(), { before: known })).toMatchObject({ changed, files: 2, bytes: 4 })
    expect(tree(copy())).toEqual(tree(source()))
  })
})

describe('a file of several names', () => {
  beforeEach(() => {
    for (const directory of ['1', '2', '3']) fs.mkdirSync(source(directory))
    fs.writeFileSync(source('1/a'), 'one')
    for (const other of ['2/b', '2/c', '3/d']) fs.linkSync(source('1/a'), source(other))
  })

  test.each([[['1/a']], [['2/b']], [['3/d']], [['2/b', '3/d']], [['1/a', '2/c', '3/d']]])(
    'stays one when only %j may have changed',
    async (names) => {
      const known = index()
      await copyTree(source(), copy(), { index: known, flushedAt: muchLater })
      for (const name of names) known.seen.get(name.slice(0, 2))?.set(name.slice(2), '')
      fs.chmodSync(copy('1'), 0o500)
      const report = await copyTree(source(), copy(), { before: known, index: known, flushedAt: muchLater })
      fs.chmodSync(copy('1'), 0o755)
      expect(report).toMatchObject({ files: 1, bytes: 3 })
      expect(report.changed).toBeGreaterThan(0)
      expect(tree(copy())).toEqual(tree(source()))
      expect(new Set(['1/a', '2/b', '2/c', '3/d'].map((name) => fs.statSync(copy(name)).ino)).size).toBe(1)
    },
  )

  test('is one with a name that was left out before', async () => {
    const known = index()
    await copyTree(source(), copy(), { index: known, flushedAt: muchLater })
    fs.rmSync(copy('1'), { recursive: true })
    known.seen.delete('1/')
    known.seen.get('')?.delete('1')
    await copyTree(source(), copy(), { before: known })
    expect(tree(copy())).toEqual(tree(source()))
  })
})

test('what is not known is replaced by what the source is', async () => {
  fs.mkdirSync(source('d/e'), { recursive: true })
  fs.writeFileSync(source('d/f'), 'file')
  for (const directory of ['d/f', 'gone']) fs.mkdirSync(copy(directory), { recursive: true })
  for (const name of ['d/e', 'd/f/x', 'gone/y', 'z']) fs.writeFileSync(copy(name), 'old')
  const report = await copyTree(source(), copy(), { before: 'unknown' })
  expect(report).toMatchObject({ files: 1, bytes: 4 })
  expect(report.changed).toBeUndefined()
  expect(tree(copy())).toEqual(tree(source()))
})

test('wherever it is killed, the old index still tells what the old tree is', async () => {
  fs.mkdirSync(source('d'))
  for (const name of ['a', 'b', 'd/c', 'd/e']) fs.writeFileSync(source(name), name)
  const storage = { root: join(base, 'root'), guarded: [] }
  const program = `
    import { importFolder } from ${JSON.stringify(join(import.meta.dirname, '../../drivers/storage/root/import.ts'))}
    const [storage, tree, folder] = ${JSON.stringify([storage, copy(), source()])}
    await importFolder(storage, tree, folder, { into: '.', index: { name: 'new', since: 'old' } })`
  fs.utimesSync(source('a'), 1, 1)
  await setTimeout(50)
  fs.mkdirSync(join(base, 'old'))
  await importFolder(storage, join(base, 'old'), source(), { into: '.', index: { name: 'old' } })
  fs.writeFileSync(source('b'), 'B')
  fs.rmSync(source('d/c'))
  fs.linkSync(source('a'), source('d/new'))
  const again = async (): Promise<void> => {
    fs.rmSync(copy(), { recursive: true, force: true })
    await copyTree(join(base, 'old'), copy(), { own: true })
  }
  for (let step = 1; ; step++) {
    await again()
    const { signal, status, stderr } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
      env: { ...process.env, AW_CRASH_AT: `${step}` },
      encoding: 'utf8',
    })
    expect([signal, status, stderr]).toEqual(signal === null ? [null, 0, ''] : ['SIGKILL', null, ''])
    if (signal === null) break
    await again()
    const index = { name: 'other', since: 'old' }
    const report = await importFolder(storage, copy(), source(), { into: '.', index })
    expect(report.changed).toBeGreaterThan(2)
    expect(tree(copy())).toEqual(tree(source()))
    expect(step).toBeLessThan(100)
  }
  expect(tree(copy())).toEqual(tree(source()))
  expect(fs.readdirSync(join(base, 'root/folder-indexes')).toSorted()).toEqual(['new', 'old', 'other'])
}, 60_000)
