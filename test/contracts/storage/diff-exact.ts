import { expect, it } from 'vitest'
import type { Change, Place } from '../../../src/ports/storage-driver.ts'
import { collect } from '../../support/collect.ts'
import type { Edit } from '../../support/edits.ts'
import { volume, type OpenStorage } from '../storage.ts'
import { file } from './diff.ts'
import { changes, fork, sample, snap, withoutRenames, withVolume } from './trees.ts'

/** What only an exact comparison tells: what is done to the sample with two pairs of names, and what is told at least. */
const exactCases: readonly (readonly [what: string, edits: readonly Edit[], paths: readonly string[]])[] = [
  ['nothing', [], []],
  ['a time', [{ do: 'touch', path: 'x', mtime: 5 }], ['x']],
  ['the time of a file with two names', [{ do: 'touch', path: 'q', mtime: 5 }], ['q']],
  ['the time of a directory, which is none of it', [{ do: 'touch', path: 'd/empty', mtime: 5 }], []],
  [
    'a file that has become two',
    [
      { do: 'remove', path: 'q' },
      { do: 'write', path: 'q', content: 'equal' },
      { do: 'touch', path: 'q', mtime: 1_600_000_000 },
    ],
    ['q'],
  ],
  [
    'two files that have become one',
    [
      { do: 'remove', path: 't' },
      { do: 'link', path: 't', to: 'u' },
    ],
    ['u'],
  ],
  [
    'names that have changed places',
    [
      { do: 'rename', path: 'q', to: 'tmp' },
      { do: 'rename', path: 'r', to: 'q' },
      { do: 'rename', path: 'tmp', to: 'r' },
    ],
    ['q'],
  ],
]

const equal = { kind: 'file', content: 'equal', mode: 0o644, mtime: 1_600_000_000 } as const
const alike = {
  ...sample,
  p: equal,
  q: { kind: 'hardlink', to: 'p' },
  r: equal,
  s: { kind: 'hardlink', to: 'r' },
  t: equal,
  u: equal,
} as const

/** Whether one tree can be taken for another. */
export function exactDiffContract(open: OpenStorage): void {
  it.each(exactCases)('tells, if it has to be exact, %s', async (_, edits, paths) => {
    const subject = await withVolume(open, alike)
    const { storage } = subject
    const exactly = async (from: Place, to: Place): Promise<string[]> =>
      (await collect(storage.diff(from, to, { exact: true }))).map(({ path }) => path)
    await storage.snapshot(volume, snap(1))
    subject.edit(volume, ...edits)
    const told: unknown = paths.length === 0 ? [] : expect.arrayContaining([...paths])
    expect(await exactly(snap(1), volume)).toEqual(told)
    expect(await changes(subject, snap(1), volume)).toEqual([])
    await storage.snapshot(volume, snap(2))
    expect(await exactly(snap(1), snap(2))).toEqual(told)
    expect(await exactly(snap(2), volume)).toEqual([])
    await storage.create(fork(1), { from: snap(1) })
    expect(await exactly(snap(1), fork(1))).toEqual([])
    expect(await exactly(fork(1), volume)).toEqual(told)
    await storage.restore(volume, snap(1), snap(3))
    expect(await exactly(snap(1), volume)).toEqual([])
    expect(await exactly(snap(2), snap(3))).toEqual([])
  })
}

/** Renames, for drivers whose files are those of the host. */
export function renameContract(open: OpenStorage): void {
  it('tells of a renamed one where it was, also if it has another inode there, and counts it as two', async () => {
    const subject = await withVolume(open)
    const { storage } = subject
    await storage.snapshot(volume, snap(1))
    await storage.create(fork(1), { from: snap(1) })
    subject.edit(volume, { do: 'rename', path: 'x', to: 'y' })
    const { changed } = await storage.snapshot(volume, snap(2), { since: snap(1) })
    expect([2, null]).toContain(changed)
    const renamed: Change = {
      path: 'y',
      change: 'renamed',
      from: 'x',
      what: [],
      before: file(10, 0o755),
      after: file(10, 0o755),
    }
    for (const [from, to] of [
      [snap(1), volume],
      [snap(1), snap(2)],
      [fork(1), volume],
    ] as const) {
      const told = await changes(subject, from, to)
      expect(told).toEqual([renamed])
      const counted = await collect(storage.diff(from, to, { renames: false }))
      expect(withoutRenames(counted)).toEqual(withoutRenames(told))
    }
  })

  it('takes a file for renamed only if no other that went or came has its content', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.create(fork(1), { from: snap(1) })
    const twice = { do: 'write', content: '#!/bin/sh\n' } as const
    subject.edit(volume, { do: 'remove', path: 'x' }, { ...twice, path: 'y' }, { ...twice, path: 'z' })
    const kinds = (await changes(subject, fork(1), volume)).map(({ change, path }) => `${change} ${path}`)
    expect(kinds).toEqual(['removed x', 'added y', 'added z'])
  })
}
