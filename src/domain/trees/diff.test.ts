import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffEntries, type Change, type DiffEntry } from './diff.ts'

const plain: DiffEntry = { kind: 'file', size: 1, mode: 0o644, content: 'x', owner: '0:0', attributes: '' }
const file = (more: Partial<DiffEntry> = {}): DiffEntry => ({ ...plain, ...more })
const diff = (before: Record<string, DiffEntry>, after: Record<string, DiffEntry>): Change[] =>
  diffEntries(new Map(Object.entries(before)), new Map(Object.entries(after)))
const told = (changes: readonly Change[]): string[] =>
  changes.map(({ path, change, from, what }) =>
    [change, ...(from === undefined ? [] : [from]), path, ...what].join(' '),
  )

describe('what differs between two trees', () => {
  it('is nothing if nothing does, and is ordered by path', () => {
    expect(diff({ a: file() }, { a: file() })).toEqual([])
    const found = diff({ c: file(), b: file() }, { a: file(), b: file({ content: 'y' }) })
    expect(told(found)).toEqual(['added a', 'changed b content', 'removed c'])
    expect(found[0]).toMatchObject({ before: null, after: { kind: 'file', size: 1, mode: 0o644 } })
    expect(found[2]).toMatchObject({ before: { kind: 'file' }, after: null })
  })

  it.each<[string, Partial<DiffEntry>, Partial<DiffEntry>, string[]]>([
    ['content of the same size', {}, { content: 'y' }, ['content']],
    ['size', {}, { size: 2 }, ['content']],
    ['mode', {}, { mode: 0o755 }, ['mode']],
    ['owner', {}, { owner: '1:1' }, ['owner']],
    ['attributes', {}, { attributes: 'user.a=b' }, ['attributes']],
    [
      'everything',
      {},
      { content: 'y', mode: 0, owner: '', attributes: 'z' },
      ['content', 'mode', 'owner', 'attributes'],
    ],
    ['kind alone, whatever else', {}, { kind: 'fifo', mode: 0, content: '' }, ['kind']],
    ['a target', { kind: 'symlink' }, { kind: 'symlink', content: 'y' }, ['target']],
    ['a target, though not the mode of a link', { kind: 'symlink' }, { kind: 'symlink', mode: 0 }, []],
    ['a directory, though not its size', { kind: 'directory' }, { kind: 'directory', size: 4096 }, []],
  ])('tells %s', (_, before, after, what) => {
    expect(diff({ a: file(before) }, { a: file(after) }).flatMap((change) => change.what)).toEqual(what)
  })

  it('does not ask for contents where sizes tell', () => {
    const unread = (size: number): DiffEntry => ({
      ...plain,
      size,
      get content(): string {
        throw new Error('it was read')
      },
    })
    expect(told(diff({ a: unread(1) }, { a: unread(2) }))).toEqual(['changed a content'])
  })

  it('tells a rename by the identity of the file, also of one that was changed', () => {
    const before = { a: file({ identity: '7' }), d: file({ kind: 'directory', identity: '8' }) }
    expect(told(diff(before, { b: file({ identity: '7' }), d: before.d }))).toEqual(['renamed a b'])
    expect(told(diff(before, { b: file({ identity: '7', mode: 0o600 }), d: before.d }))).toEqual(['renamed a b mode'])
    expect(told(diff({ a: file() }, { b: file() }))).toEqual(['removed a', 'added b'])
    const reused = diff(before, { b: file({ identity: '8' }), a: before.a })
    expect(told(reused)).toEqual(['added b', 'removed d'])
  })

  it('knows no rename while one of several names stays, and pairs each name once', () => {
    const link = file({ identity: '7' })
    expect(told(diff({ a: link, b: link }, { a: link, c: link }))).toEqual(['renamed b c'])
    expect(told(diff({ a: link }, { a: link, c: link }))).toEqual(['added c'])
    const two = told(diff({ a: link, b: link }, { c: link }))
    expect(two).toEqual(['removed b', 'renamed a c'])
  })

  it('is enough to make the one of the other', () => {
    const entry = fc.record({
      kind: fc.constantFrom('file' as const, 'directory' as const, 'symlink' as const),
      size: fc.nat(2),
      mode: fc.constantFrom(0o644, 0o755),
      content: fc.constantFrom('x', 'y'),
      owner: fc.constant(''),
      attributes: fc.constant(''),
      identity: fc.option(fc.constantFrom('1', '2', '3'), { nil: undefined }),
    })
    const tree = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), entry, { noNullPrototype: true })
    fc.assert(
      fc.property(tree, tree, (before, after) => {
        const paths = new Set(Object.keys(before))
        const changes = diff(before, after)
        for (const { change, path, from } of changes) {
          if (change === 'removed') expect(paths.delete(path)).toBe(true)
          if (change === 'renamed') expect(paths.delete(from ?? '')).toBe(true)
        }
        for (const { change, path } of changes) if (change === 'added' || change === 'renamed') paths.add(path)
        expect([...paths].toSorted()).toEqual(Object.keys(after).toSorted())
        expect(changes.map(({ path }) => path)).toEqual(changes.map(({ path }) => path).toSorted())
      }),
    )
  })
})
