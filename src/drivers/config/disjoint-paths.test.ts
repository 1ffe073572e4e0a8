import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openManager } from '../../aw.ts'
import { assertDisjointPaths } from './disjoint-paths.ts'

let folder: string
let home: string
beforeEach(() => {
  folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'aw-places-')))
  home = join(folder, 'home')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const refused = (key: string): unknown =>
  expect.objectContaining({ code: 'invalid_config', data: { key }, hint: expect.any(String) as unknown })

it.each([
  ['the home itself', '.'],
  ['the home, by a longer way', 'x/..'],
  ['what holds the home', '..'],
  ['the root directory', '/'],
  ['the storage root', 'storage'],
  ['inside the storage root', 'storage/volumes'],
  ['inside the locks', 'locks/a'],
  ['the texts', 'texts'],
])('a base path that is %s is refused', async (_, value) => {
  const set = { 'workspaces.base_path': value }
  await expect(openManager({ home, env: {}, set })).rejects.toEqual(refused('workspaces.base_path'))
})

it.each([
  ['the home itself', '.'],
  ['what holds the home', '..'],
  ['inside the texts', 'texts/a'],
])('a storage root that is %s is refused', async (_, value) => {
  await expect(openManager({ home, env: {}, set: { 'storage.root': value } })).rejects.toEqual(refused('storage.root'))
})

it('links do not hide it, also when the last part is not there yet', () => {
  mkdirSync(join(home, 'storage'), { recursive: true })
  symlinkSync('home/storage', join(folder, 'link'))
  symlinkSync('home', join(folder, 'other'))
  const storageRoot = join(home, 'storage')
  const archives = join(home, 'archives')
  for (const basePath of [join(folder, 'link/new/one'), join(folder, 'link'), join(folder, 'other')])
    expect(() => assertDisjointPaths({ home, basePath, storageRoot, archives })).toThrow(/workspaces.base_path/)
  const other = { home, basePath: join(folder, 'b'), storageRoot: join(folder, 'other'), archives }
  expect(() => assertDisjointPaths(other)).toThrow(/storage.root/)
})

it('elsewhere, beside and inside the home are fine', () => {
  for (const [base, storage] of [
    ['home/workspaces', 'home/storage'],
    ['elsewhere', 'home/storage'],
    ['home/storage-links', 'home/storage'],
    ['a/b', 'a/c'],
    ['homes', 'home-storage'],
  ] as const) {
    const places = {
      home,
      basePath: join(folder, base),
      storageRoot: join(folder, storage),
      archives: join(folder, 'a/d'),
    }
    expect(() => assertDisjointPaths(places)).not.toThrow()
  }
})

it.each(['.', 'storage', 'storage/volumes/x', 'workspaces', 'workspaces/task', 'locks', '..'])(
  'archives in %s are refused',
  async (value) => {
    const set = { 'archive.directory': value }
    await expect(openManager({ home, env: {}, set })).rejects.toEqual(refused('archive.directory'))
  },
)
