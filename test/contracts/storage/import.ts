import { expect, it } from 'vitest'
import { code, staged, volume, type OpenStorage } from '../storage.ts'
import { bytesOf, type Tree } from '../../support/tree.ts'

const time = 1_600_000_000.123

/** Everything that a copy must keep. */
const everything: Tree = {
  'dangling link': { kind: 'symlink', target: 'nowhere/at all' },
  empty: { kind: 'directory', mode: 0o755, mtime: time },
  'empty/er': { kind: 'directory', mode: 0o1777, mtime: time - 1 },
  file: { kind: 'file', content: 'text\n', mode: 0o644, mtime: time },
  'link inside': { kind: 'symlink', target: 'file' },
  'link out': { kind: 'symlink', target: '/etc/passwd' },
  nested: { kind: 'directory', mode: 0o2750, mtime: time },
  'nested/.git': { kind: 'directory', mode: 0o700, mtime: time },
  'nested/.git/config': { kind: 'file', content: '', mode: 0o600, mtime: 1 },
  'nested/.gitignore': { kind: 'file', content: '*', mode: 0o444, mtime: time },
  'nested/program': { kind: 'file', content: '\0\x7fELF\xff', mode: 0o755, mtime: time },
  'nested/second name': { kind: 'hardlink', to: 'file' },
  [bytesOf('ünï/cödé 名'.replace('/', '-'))]: { kind: 'file', content: 'unicode', mode: 0o644, mtime: time },
  '-rf *': { kind: 'file', content: 'odd', mode: 0o644, mtime: time },
  'a\nb': { kind: 'file', content: 'newline', mode: 0o644, mtime: time },
  'back\\slash': { kind: 'file', content: 'backslash', mode: 0o644, mtime: time },
  '\xff\xfe': { kind: 'file', content: 'not text', mode: 0o644, mtime: time },
  '\xffdir': { kind: 'directory', mode: 0o755, mtime: time },
  '\xffdir/\xfe': { kind: 'symlink', target: '\xfd' },
}

const sorted = (tree: Tree): [string, unknown][] => Object.entries(tree).toSorted(([a], [b]) => (a < b ? -1 : 1))

export function importContract(open: OpenStorage): void {
  it('keeps names, bytes, modes, times, links, hard links and empty directories', async () => {
    const { storage, folder, read } = await open()
    await storage.create(staged)
    const report = await storage.import(staged, { folder: folder(everything) }, { into: '.' })
    expect(sorted(read(staged))).toEqual(sorted(everything))
    expect(report).toMatchObject({ files: 9, skipped: [] })
  })

  it('makes the directory it copies into, and joins one that is there', async () => {
    const { storage, folder, read } = await open()
    await storage.create(staged)
    const source = folder({ a: { kind: 'directory' }, 'a/b': { kind: 'file', content: 'new' } })
    await storage.import(staged, { folder: source }, { into: 'work' })
    await storage.import(staged, { folder: folder({ a: { kind: 'directory' } }) }, { into: 'work' })
    expect(read(staged)).toMatchObject({ work: {}, 'work/a': {}, 'work/a/b': { content: 'new' } })
  })

  it('copies another tree of its own', async () => {
    const { storage, folder, read } = await open()
    await storage.create(volume)
    await storage.import(volume, { folder: folder(everything) }, { into: '.' })
    await storage.create(staged)
    await storage.import(staged, { place: volume }, { into: '.' })
    expect(sorted(read(staged))).toEqual(sorted(everything))
    expect(sorted(read(volume))).toEqual(sorted(everything))
  })

  it('copies large and empty files byte for byte', async () => {
    const { storage, folder, read } = await open()
    const large = Buffer.alloc(3_000_001, 'abcdefg').toString('latin1')
    const source = folder({ large: { kind: 'file', content: large }, none: { kind: 'file', content: '' } })
    await storage.create(staged)
    const report = await storage.import(staged, { folder: source }, { into: '.' })
    expect(report).toMatchObject({ files: 2, bytes: 3_000_001 })
    await storage.create(volume)
    await storage.import(volume, { folder: source }, { into: '.' })
    expect(read(staged)['large']).toMatchObject({ content: expect.stringMatching(/^3000001 bytes/) as unknown })
    expect(read(volume)).toEqual(read(staged))
  })

  it('leaves out what is not a file, and says so', async () => {
    const { storage, folder, read } = await open()
    const source = folder({
      a: { kind: 'directory' },
      'a/pipe': { kind: 'fifo' },
      b: { kind: 'file', content: 'kept' },
    })
    await storage.create(staged)
    const report = await storage.import(staged, { folder: source }, { into: '.' })
    expect(report).toMatchObject({ files: 1, skipped: [{ path: 'a/pipe', reason: 'fifo' }] })
    expect(Object.keys(read(staged))).toEqual(['a', 'b'])
  })

  it('leaves out a .git that leads to a repository elsewhere, and says so', async () => {
    const { storage, folder, read } = await open()
    const source = folder({
      '.git': { kind: 'file', content: 'gitdir: /elsewhere/.git/worktrees/here\n' },
      a: { kind: 'directory', mode: 0o755 },
      'a/.git': { kind: 'symlink', target: '../../elsewhere/.git' },
      'a/b': { kind: 'directory', mode: 0o555 },
      'a/b/.git': { kind: 'file', content: 'gitdir: ../../../elsewhere/.git/modules/b\n' },
      own: { kind: 'directory' },
      'own/real': { kind: 'directory' },
      'own/one': { kind: 'directory' },
      'own/one/.git': { kind: 'file', content: 'gitdir: ../real\n' },
      'own/two': { kind: 'directory' },
      'own/two/.git': { kind: 'symlink', target: '../real' },
      'own/none': { kind: 'directory' },
      'own/none/.git': { kind: 'file', content: 'nothing\n' },
    })
    await storage.create(staged)
    const report = await storage.import(staged, { folder: source }, { into: '.' })
    const left = ['.git', 'a/.git', 'a/b/.git']
    expect(report).toMatchObject({ files: 2, skipped: left.map((path) => ({ path, reason: 'foreign_git' })) })
    const kept = ['own', 'own/none', 'own/none/.git', 'own/one', 'own/one/.git', 'own/real', 'own/two', 'own/two/.git']
    expect(Object.keys(read(staged)).toSorted()).toEqual(['a', 'a/b', ...kept])
    expect(read(staged)).toMatchObject({ a: { mode: 0o755 }, 'a/b': { mode: 0o555 } })
  })

  it('makes a tree that its owner can write to from a folder that nobody can', async () => {
    const { storage, folder, read } = await open()
    await storage.create(staged)
    await storage.import(staged, { folder: folder({ a: { kind: 'directory', mode: 0o500 } }) }, { into: 'work' })
    expect(read(staged)['work/a']).toMatchObject({ mode: 0o500 })
  })

  it('refuses what is no source', async () => {
    const { storage, folder } = await open()
    await storage.create(staged)
    const store = storage.attachment({ area: 'volumes', name: '.' }).path
    for (const source of [`${folder({})}/missing`, '/', store]) {
      await expect(storage.import(staged, { folder: source }, { into: '.' })).rejects.toEqual(code('source_failed'))
    }
    await expect(storage.import(staged, { place: volume }, { into: '.' })).rejects.toEqual(code('source_failed'))
    await expect(storage.import(volume, { folder: folder({}) }, { into: '.' })).rejects.toEqual(
      code('workspace_not_found'),
    )
  })

  it('stops when its caller has gone', async () => {
    const { storage, folder } = await open()
    await storage.create(staged)
    const signal = AbortSignal.abort()
    const source = folder({ a: { kind: 'file', content: '' } })
    await expect(storage.import(staged, { folder: source }, { into: '.', signal })).rejects.toEqual(code('aborted'))
  })
}
