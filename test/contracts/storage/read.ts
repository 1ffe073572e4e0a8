import { expect, it } from 'vitest'
import { toAwError } from '../../../src/domain/errors.ts'
import type { Place, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { code, volume, type OpenStorage } from '../storage.ts'
import { bytesOf } from '../../support/tree.ts'
import { snap, withVolume } from './trees.ts'

const binary = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 31) % 256)).toString('latin1')

const odd = [
  '-rf *',
  'new\nline',
  'back\\slash',
  '\xff\xfe',
  bytesOf('名'),
  'x'.repeat(255),
  ' ',
  '"',
  "'",
  '%s',
  '..a',
]

/** One file of a tree, frozen or not. */
export function readContract(open: OpenStorage): void {
  const places = [volume, snap(1)] as const

  it('gives the bytes', async () => {
    const { storage } = await withVolume(open, {
      binary: { kind: 'file', content: binary },
      d: { kind: 'directory' },
      'd/empty': { kind: 'file', content: '' },
      'd/second name': { kind: 'hardlink', to: 'binary' },
    })
    await storage.snapshot(volume, snap(1))
    for (const place of places) {
      expect((await storage.read(place, 'binary', { maxBytes: 70_000 })).toString('latin1')).toBe(binary)
      expect((await storage.read(place, 'd/second name', { maxBytes: 70_000 })).toString('latin1')).toBe(binary)
      expect(await storage.read(place, 'd/empty', { maxBytes: 0 })).toHaveLength(0)
    }
  })

  it('of a snapshot gives what was frozen', async () => {
    const { storage, edit } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    edit(volume, { do: 'write', path: 'a', content: 'two\n' }, { do: 'remove', path: 'd' })
    expect((await storage.read(snap(1), 'a', { maxBytes: 4 })).toString()).toBe('one\n')
    expect((await storage.read(snap(1), 'd/e/f', { maxBytes: 4 })).toString()).toBe('deep')
    expect((await storage.read(volume, 'a', { maxBytes: 4 })).toString()).toBe('two\n')
  })

  it('takes any name', async () => {
    const tree = Object.fromEntries(odd.map((name) => [name, { kind: 'file', content: name } as const]))
    const { storage } = await withVolume(open, tree)
    await storage.snapshot(volume, snap(1))
    for (const place of places) {
      for (const name of odd) expect((await storage.read(place, name, { maxBytes: 300 })).toString('latin1')).toBe(name)
    }
  })

  it('refuses more than was asked for', async () => {
    const { storage } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    for (const place of places) {
      await expect(storage.read(place, 'a', { maxBytes: 3 })).rejects.toEqual(code('file_too_large'))
    }
  })

  it('reads nothing but files, and follows no link', async () => {
    const { storage, edit } = await withVolume(open)
    edit(
      volume,
      { do: 'fifo', path: 'pipe' },
      { do: 'symlink', path: 'to-directory', target: 'd' },
      { do: 'symlink', path: 'out', target: '/etc/passwd' },
      { do: 'symlink', path: 'dangling', target: 'nowhere' },
    )
    await storage.snapshot(volume, snap(1))
    for (const place of places) {
      const no = { d: 'not_a_file', l: 'not_a_file', out: 'not_a_file', dangling: 'not_a_file', pipe: 'not_a_file' }
      expect(await refusals(storage, place, Object.keys(no))).toEqual(no)
      const missing = ['missing', 'd/missing', 'missing/a', 'a/b', 'to-directory/e/f', 'out/a']
      const none = Object.fromEntries(missing.map((path) => [path, 'file_not_found']))
      expect(await refusals(storage, place, missing)).toEqual(none)
    }
  })

  it('tells what a link says, and that nothing else is one', async () => {
    const { storage, edit } = await withVolume(open)
    const links = { 'd/up': '../\xff\xfe', out: '/etc/passwd', dangling: 'nowhere/' }
    edit(volume, ...Object.entries(links).map(([path, target]) => ({ do: 'symlink', path, target }) as const))
    await storage.snapshot(volume, snap(1))
    for (const place of places) {
      const said = (path: string, maxBytes = 4096) => storage.read(place, path, { maxBytes, link: true })
      for (const [path, target] of Object.entries(links)) expect((await said(path)).toString('latin1')).toBe(target)
      for (const path of ['a', 'd']) await expect(said(path)).rejects.toEqual(code('not_a_file'))
      for (const path of ['missing', 'a/b', 'out/a']) await expect(said(path)).rejects.toEqual(code('file_not_found'))
      await expect(said('out', 4)).rejects.toEqual(code('file_too_large'))
    }
  })

  it('leads nowhere outside the tree', async () => {
    const { storage } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    for (const place of places) {
      const paths = ['..', '../ws_1/a', 'd/../../ws_1/a', '/etc/passwd', '.', '', 'd//e', './a']
      const told = Object.values(await refusals(storage, place, paths))
      expect(
        told.filter((refusal) => !/^(file_not_found|not_a_file|invalid_path|path_|absolute_path_)/.test(refusal)),
      ).toEqual([])
    }
  })

  it('needs the tree', async () => {
    const { storage } = await open()
    await expect(storage.read(volume, 'a', { maxBytes: 1 })).rejects.toEqual(code('workspace_not_found'))
    await expect(storage.read(snap(1), 'a', { maxBytes: 1 })).rejects.toEqual(code('snapshot_not_found'))
  })
}

/** By path, with what code it is refused. */
async function refusals(
  storage: StorageDriver,
  place: Place,
  paths: readonly string[],
): Promise<Record<string, string>> {
  const told: Record<string, string> = {}
  for (const path of paths)
    told[path] = await storage.read(place, path, { maxBytes: 2 ** 20 }).then(
      () => 'was read',
      (error: unknown) => toAwError(error).code,
    )
  return told
}
