import { expect, it } from 'vitest'
import type { Change } from '../../../src/ports/storage-driver.ts'
import { collect } from '../../support/collect.ts'
import type { Edit } from '../../support/edits.ts'
import { code, staged, volume, type OpenStorage } from '../storage.ts'
import { bytesOf } from '../../support/tree.ts'
import { changes, fill, fork, keepsLinks, sample, snap, withoutRenames, withVolume } from './trees.ts'

type Shown = NonNullable<Change['before']>
export const file = (size: number, mode = 0o644): Shown => ({ kind: 'file', size, mode })
const directory = (mode = 0o755): Shown => ({ kind: 'directory', size: 0, mode })
/** The mode of a link says nothing. */
const link = (target: string): Shown => ({
  kind: 'symlink',
  size: target.length,
  mode: expect.any(Number) as number,
  target,
})

const added = (path: string, after: Shown): Change => ({ path, change: 'added', what: [], before: null, after })
const removed = (path: string, before: Shown): Change => ({ path, change: 'removed', what: [], before, after: null })
const changed = (path: string, what: Change['what'], before: Shown, after: Shown): Change => ({
  path,
  change: 'changed',
  what,
  before,
  after,
})

/** What is done to the sample, and what a difference must then tell. */
const cases: readonly (readonly [what: string, edits: readonly Edit[], told: readonly Change[]])[] = [
  ['nothing', [], []],
  ['a new file', [{ do: 'write', path: 'd/n', content: 'new' }], [added('d/n', file(3))]],
  ['a file that went', [{ do: 'remove', path: 'x' }], [removed('x', file(10, 0o755))]],
  [
    'other content',
    [{ do: 'write', path: 'd/e/f', content: 'deeper' }],
    [changed('d/e/f', ['content'], file(4, 0o600), file(6, 0o600))],
  ],
  [
    'other content under both names of a file',
    [{ do: 'append', path: 'b', content: '!' }],
    [changed('a', ['content'], file(4), file(5)), changed('b', ['content'], file(4), file(5))],
  ],
  [
    'other content of the same size and time',
    [{ do: 'forge', path: 'd/e/f', content: 'DEEP' }],
    [changed('d/e/f', ['content'], file(4, 0o600), file(4, 0o600))],
  ],
  [
    'a shorter file',
    [{ do: 'truncate', path: 'x', size: 0 }],
    [changed('x', ['content'], file(10, 0o755), file(0, 0o755))],
  ],
  [
    'other permissions',
    [{ do: 'chmod', path: 'x', mode: 0o4711 }],
    [changed('x', ['mode'], file(10, 0o755), file(10, 0o4711))],
  ],
  [
    'other permissions of a directory',
    [{ do: 'chmod', path: 'd', mode: 0o1777 }],
    [changed('d', ['mode'], directory(), directory(0o1777))],
  ],
  [
    'content and permissions',
    [
      { do: 'write', path: 'x', content: '' },
      { do: 'chmod', path: 'x', mode: 0o644 },
    ],
    [changed('x', ['content', 'mode'], file(10, 0o755), file(0))],
  ],
  [
    'times alone',
    [
      { do: 'touch', path: 'a', mtime: 5 },
      { do: 'touch', path: 'd', mtime: 5 },
    ],
    [],
  ],
  [
    'content that came back',
    [
      { do: 'write', path: 'd/e/f', content: 'other' },
      { do: 'write', path: 'd/e/f', content: 'deep' },
    ],
    [],
  ],
  [
    'a file that was made anew as it was',
    [
      { do: 'remove', path: 'd/e/f' },
      { do: 'write', path: 'd/e/f', content: 'deep' },
      { do: 'chmod', path: 'd/e/f', mode: 0o600 },
    ],
    [],
  ],
  [
    'a file instead of a directory',
    [
      { do: 'remove', path: 'd/e' },
      { do: 'write', path: 'd/e', content: '' },
    ],
    [changed('d/e', ['kind'], directory(0o700), file(0)), removed('d/e/f', file(4, 0o600))],
  ],
  [
    'a directory instead of a file',
    [
      { do: 'remove', path: 'x' },
      { do: 'mkdir', path: 'x' },
      { do: 'write', path: 'x/y', content: '1' },
    ],
    [changed('x', ['kind'], file(10, 0o755), directory()), added('x/y', file(1))],
  ],
  [
    'a link instead of a file',
    [
      { do: 'remove', path: 'x' },
      { do: 'symlink', path: 'x', target: 'a' },
    ],
    [changed('x', ['kind'], file(10, 0o755), link('a'))],
  ],
  [
    'a directory instead of a link',
    [
      { do: 'remove', path: 'l' },
      { do: 'mkdir', path: 'l' },
    ],
    [changed('l', ['kind'], link('d/e/f'), directory())],
  ],
  [
    'another target',
    [
      { do: 'remove', path: 'l' },
      { do: 'symlink', path: 'l', target: 'd/e/g' },
    ],
    [changed('l', ['target'], link('d/e/f'), link('d/e/g'))],
  ],
  [
    'a renamed file',
    [{ do: 'rename', path: 'x', to: 'd/y' }],
    [added('d/y', file(10, 0o755)), removed('x', file(10, 0o755))],
  ],
  [
    'a renamed directory, with what is in it',
    [{ do: 'rename', path: 'd/e', to: 'moved' }],
    [
      removed('d/e', directory(0o700)),
      removed('d/e/f', file(4, 0o600)),
      added('moved', directory(0o700)),
      added('moved/f', file(4, 0o600)),
    ],
  ],
  [
    'a file that was renamed and changed',
    [
      { do: 'rename', path: 'x', to: 'y' },
      { do: 'append', path: 'y', content: '1' },
    ],
    [removed('x', file(10, 0o755)), added('y', file(11, 0o755))],
  ],
  [
    'two files that changed places',
    [
      { do: 'rename', path: 'x', to: 'tmp' },
      { do: 'rename', path: 'd/e/f', to: 'x' },
      { do: 'rename', path: 'tmp', to: 'd/e/f' },
    ],
    [
      changed('d/e/f', ['content', 'mode'], file(4, 0o600), file(10, 0o755)),
      changed('x', ['content', 'mode'], file(10, 0o755), file(4, 0o600)),
    ],
  ],
  ['one more name of a file', [{ do: 'link', path: 'd/c', to: 'a' }], [added('d/c', file(4))]],
  ['one name less', [{ do: 'remove', path: 'a' }], [removed('a', file(4))]],
  ['a new directory with nothing in it', [{ do: 'mkdir', path: 'n' }], [added('n', directory())]],
  ['an empty directory that went', [{ do: 'remove', path: 'd/empty' }], [removed('d/empty', directory())]],
  ['a pipe', [{ do: 'fifo', path: 'pipe' }], [added('pipe', { kind: 'fifo', size: 0, mode: 0o644 })]],
  ['a name that is not text', [{ do: 'write', path: '\xff\n', content: '' }], [added('\xff\n', file(0))]],
  [
    'names that only differ in how they are composed',
    [
      { do: 'write', path: bytesOf('\u00e9'), content: '1' },
      { do: 'write', path: bytesOf('e\u0301'), content: '22' },
    ],
    [added(bytesOf('e\u0301'), file(2)), added(bytesOf('\u00e9'), file(1))],
  ],
]

/** What differs from one tree to another. */
export function diffContract(open: OpenStorage): void {
  it.each(cases)('tells %s', async (_, edits, whole) => {
    const subject = await withVolume(open)
    // Under its other name the file is as it was, if they are two by now.
    const parted = whole.length > 1 && edits.length === 1 && edits[0]?.path === 'b' && !keepsLinks(subject)
    const told = parted ? whole.filter(({ path }) => path === 'b') : whole
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, ...edits)
    const now = await changes(subject, snap(1), volume)
    expect(withoutRenames(now)).toEqual(told)
    expect(now.map(({ path }) => path)).toEqual(now.map(({ path }) => path).toSorted())
    await subject.storage.snapshot(volume, snap(2), { since: snap(1) })
    expect(withoutRenames(await changes(subject, snap(1), snap(2)))).toEqual(told)
    expect(await changes(subject, snap(2), volume)).toEqual([])
    await subject.storage.create(fork(1), { from: snap(1) })
    expect(withoutRenames(await changes(subject, fork(1), volume))).toEqual(told)
  })

  it('tells of a renamed one where it was, if it tells renames', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'rename', path: 'x', to: 'y' }, { do: 'chmod', path: 'y', mode: 0o700 })
    const told = await changes(subject, snap(1), volume)
    const renamed = told.filter(({ change }) => change === 'renamed')
    if (renamed.length === 0) expect(told).toEqual([removed('x', file(10, 0o755)), added('y', file(10, 0o700))])
    else
      expect(told).toEqual([
        { path: 'y', change: 'renamed', from: 'x', what: ['mode'], before: file(10, 0o755), after: file(10, 0o700) },
      ])
  })

  it('tells of one that was renamed and written to that it is another, though it is as long as before', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'rename', path: 'x', to: 'y' }, { do: 'write', path: 'y', content: '0'.repeat(10) })
    const [before, after] = [file(10, 0o755), file(10, 0o755)]
    const told = await changes(subject, snap(1), volume)
    if (told.length > 1) expect(told).toEqual([removed('x', before), added('y', after)])
    else expect(told).toEqual([{ path: 'y', change: 'renamed', from: 'x', what: ['content'], before, after }])
  })

  it('tells some of many where that is enough, and nothing where there is none', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    const some = (): Promise<Change[]> => collect(subject.storage.diff(snap(1), volume, { enough: 3 }))
    expect(await some()).toEqual([])
    for (let n = 0; n < 20; n++) subject.edit(volume, { do: 'write', path: `new-${n}`, content: '' })
    const [told, all] = [await some(), await changes(subject, snap(1), volume)]
    expect(told.length).toBeGreaterThanOrEqual(3)
    for (const change of told) expect(all).toContainEqual(change)
  })

  it('is the same backwards', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'write', path: 'n', content: '' }, { do: 'remove', path: 'd/e' })
    expect(await changes(subject, volume, snap(1))).toEqual([
      added('d/e', directory(0o700)),
      added('d/e/f', file(4, 0o600)),
      removed('n', file(0)),
    ])
  })

  it('between trees that have nothing in common', async () => {
    const subject = await withVolume(open)
    await fill(subject, fork(1), { a: { kind: 'file', content: 'mine', mode: 0o644 } })
    const told = await changes(subject, volume, fork(1))
    expect(told).toHaveLength(Object.keys(sample).length)
    expect(told[0]).toEqual(changed('a', ['content'], file(4), file(4)))
    await subject.storage.create(staged)
    expect(await changes(subject, staged, fork(1))).toEqual([added('a', file(4))])
  })

  it('between snapshots of which others lie between', async () => {
    const subject = await withVolume(open)
    for (const number of [1, 2, 3, 4]) {
      await subject.storage.snapshot(volume, snap(number))
      subject.edit(volume, { do: 'write', path: `n${number}`, content: '' }, { do: 'append', path: 'x', content: 'x' })
    }
    await subject.storage.erase(snap(2))
    expect(await changes(subject, snap(1), snap(4))).toEqual([
      ...[1, 2, 3].map((number) => added(`n${number}`, file(0))),
      changed('x', ['content'], file(10, 0o755), file(13, 0o755)),
    ])
  })

  it('is ordered by the bytes of the whole path', async () => {
    const subject = await withVolume(open, {})
    await subject.storage.snapshot(volume, snap(1))
    const names = ['B', 'a', 'a b', 'a-b', 'a.b', 'a/b', 'a/b/c', 'a\xff', 'b', '\xc3\xa9']
    subject.edit(volume, { do: 'mkdir', path: 'a' }, { do: 'mkdir', path: 'a/b' })
    for (const path of names.filter((name) => !['a', 'a/b'].includes(name)).toReversed())
      subject.edit(volume, { do: 'write', path, content: '' })
    expect((await changes(subject, snap(1), volume)).map(({ path }) => path)).toEqual(names.toSorted())
  })

  it('leaves out names that are none of the content', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    for (const path of ['.own', '.own/a', 'd/.own']) subject.edit(volume, { do: 'mkdir', path })
    expect((await changes(subject, snap(1), volume, ['.own'])).map(({ path }) => path)).toEqual(['d/.own'])
  })

  it('needs both trees', async () => {
    const subject = await withVolume(open)
    await expect(changes(subject, snap(1), volume)).rejects.toEqual(code('snapshot_not_found'))
    await expect(changes(subject, volume, snap(1))).rejects.toEqual(code('snapshot_not_found'))
    await expect(changes(subject, fork(1), volume)).rejects.toEqual(code('workspace_not_found'))
  })
}
