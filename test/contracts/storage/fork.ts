import { expect, it } from 'vitest'
import type { Edit } from '../../support/edits.ts'
import { code, staged, volume, type OpenStorage } from '../storage.ts'
import { changes, fork, keepsLinks, sample, snap, treeAt, withVolume } from './trees.ts'

/** What may leak from one tree to another if they share too much. */
const writes: readonly (readonly [what: string, edits: readonly Edit[]])[] = [
  ['a write to a file with two names', [{ do: 'write', path: 'b', content: 'TWO\n' }]],
  ['a change that keeps size and time', [{ do: 'forge', path: 'a', content: 'TWO\n' }]],
  ['an append', [{ do: 'append', path: 'd/e/f', content: 'er' }]],
  ['a truncation', [{ do: 'truncate', path: 'x', size: 2 }]],
  ['the rename of a directory', [{ do: 'rename', path: 'd', to: 'renamed' }]],
  ['other permissions', [{ do: 'chmod', path: 'x', mode: 0o700 }]],
  ['other permissions of a directory', [{ do: 'chmod', path: 'd/e', mode: 0o755 }]],
  ['another time', [{ do: 'touch', path: 'd/e/f', mtime: 1 }]],
  ['a new name of a file', [{ do: 'link', path: 'd/c', to: 'a' }]],
  ['a removal', [{ do: 'remove', path: 'd/e' }]],
  [
    'another kind',
    [
      { do: 'remove', path: 'l' },
      { do: 'mkdir', path: 'l' },
    ],
  ],
]

/** A writable tree that equals a snapshot. */
export function forkContract(open: OpenStorage): void {
  it('equals the snapshot, and is listed', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.create(fork(1), { from: snap(1) })
    expect(await treeAt(subject, fork(1))).toEqual(before)
    expect(await changes(subject, snap(1), fork(1))).toEqual([])
    expect(await subject.storage.list()).toEqual([volume, fork(1), snap(1)])
  })

  it('is made only when what must be on the disk before it is there, and can be worked in before it is durable', async () => {
    const { storage, read } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    const intent = Promise.withResolvers<void>()
    let isNoted = false
    const making = storage.create(fork(1), {
      from: snap(1),
      after: intent.promise.then(() => void (isNoted = true)),
      later: true,
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    intent.resolve()
    const { durable } = await making
    expect(isNoted).toBe(true)
    expect(await storage.exists(fork(1))).toBe(true)
    expect(read(fork(1))).toEqual(read(volume))
    await durable

    const kept = Promise.withResolvers<void>()
    let order = ''
    const keeping = storage.snapshot(volume, snap(2), { after: kept.promise }).then(() => (order += 'kept'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    order += 'noted '
    kept.resolve()
    await keeping
    expect(order).toBe('noted kept')

    const lost = Promise.reject(new Error('the disk is gone'))
    await expect(storage.create(fork(2), { from: snap(1), after: lost })).rejects.toThrow('the disk is gone')
    await storage.erase(fork(2))
    expect(await storage.exists(fork(2))).toBe(false)
  })

  it.each(writes)('%s in one tree is seen in no other', async (_, edits) => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    const trees = [volume, fork(1), fork(2)]
    for (const place of trees.slice(1)) await subject.storage.create(place, { from: snap(1) })
    for (const [i, place] of trees.entries()) {
      subject.edit(place, ...edits)
      expect(await treeAt(subject, place)).not.toEqual(before)
      for (const other of trees.slice(i + 1)) expect(await treeAt(subject, other)).toEqual(before)
      expect(await treeAt(subject, snap(1))).toEqual(before)
    }
  })

  it('writes of each tree are its own', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    const trees = [volume, fork(1), fork(2), fork(3)]
    for (const place of trees.slice(1)) await subject.storage.create(place, { from: snap(1) })
    for (const place of trees) {
      subject.edit(place, { do: 'append', path: 'a', content: place.name }, { do: 'mkdir', path: place.name })
    }
    for (const place of trees) {
      const content = `one\n${place.name}`
      const expected = { ...sample, a: { kind: 'file', content }, [place.name]: { kind: 'directory' } }
      const seen = await treeAt(subject, place)
      expect(Object.keys(seen).toSorted()).toEqual(Object.keys(expected).toSorted())
      expect(seen).toMatchObject({ a: { content }, b: keepsLinks(subject) ? { to: 'a' } : { content: 'one\n' } })
    }
  })

  it('has hard links of its own: a write shows under both names and nowhere else', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.create(fork(1), { from: snap(1) })
    subject.edit(fork(1), { do: 'write', path: 'b', content: 'through b' })
    expect(await treeAt(subject, fork(1))).toMatchObject(
      keepsLinks(subject)
        ? { a: { content: 'through b' }, b: { kind: 'hardlink', to: 'a' } }
        : { a: { content: 'one\n' }, b: { content: 'through b' } },
    )
    expect(await treeAt(subject, volume)).toMatchObject({ a: { content: 'one\n' }, b: { kind: 'hardlink', to: 'a' } })
  })

  it('may itself be frozen, and forked again', async () => {
    const subject = await withVolume(open)
    let parent = volume
    const depth = 8
    for (let level = 1; level <= depth; level++) {
      await subject.storage.snapshot(parent, snap(level))
      await subject.storage.create(fork(level), { from: snap(level) })
      parent = fork(level)
      subject.edit(
        parent,
        { do: 'append', path: 'a', content: `${level}` },
        { do: 'write', path: `level-${level}`, content: '' },
        { do: 'chmod', path: 'd', mode: 0o700 + level },
      )
    }
    const seen = await treeAt(subject, parent)
    const b = keepsLinks(subject) ? { to: 'a' } : { content: 'one\n' }
    expect(seen).toMatchObject({ a: { content: 'one\n12345678' }, b, d: { mode: 0o700 + depth } })
    expect(Object.keys(seen)).toHaveLength(Object.keys(sample).length + depth)
    expect(await treeAt(subject, snap(3))).toMatchObject({ a: { content: 'one\n12' } })
  })

  it('lives on when its snapshot and its source are erased', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    for (const number of [1, 2]) await subject.storage.create(fork(number), { from: snap(1) })
    await subject.storage.erase(volume)
    await subject.storage.erase(snap(1))
    await subject.storage.erase(fork(2))
    expect(await subject.storage.list()).toEqual([fork(1)])
    expect(await treeAt(subject, fork(1))).toEqual(before)
    subject.edit(fork(1), { do: 'append', path: 'a', content: 'two\n' })
    await subject.storage.snapshot(fork(1), snap(2))
    expect(await treeAt(subject, snap(2))).toMatchObject({ a: { content: 'one\ntwo\n' }, 'd/e/f': { content: 'deep' } })
  })

  it('may go while source and snapshot stay', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.create(fork(1), { from: snap(1) })
    subject.edit(fork(1), { do: 'remove', path: 'd' }, { do: 'write', path: 'a', content: '' })
    await subject.storage.erase(fork(1))
    expect(await treeAt(subject, volume)).toEqual(before)
    expect(await treeAt(subject, snap(1))).toEqual(before)
  })

  it('is built in tmp and moved like any tree', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.create(staged, { from: snap(1) })
    await subject.storage.move(staged, fork(1))
    expect(await treeAt(subject, fork(1))).toEqual(before)
    subject.edit(fork(1), { do: 'write', path: 'a', content: 'mine' })
    await subject.storage.move(fork(1), { area: 'trash', name: 'ws_fork_1.1' })
    await subject.storage.move({ area: 'trash', name: 'ws_fork_1.1' }, fork(1))
    expect(await treeAt(subject, fork(1))).toMatchObject({ a: { content: 'mine' } })
    await subject.storage.snapshot(fork(1), snap(2))
    expect(await treeAt(subject, snap(2))).toEqual(await treeAt(subject, fork(1)))
  })

  it('comes by the dozen at once', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    const forks = Array.from({ length: 12 }, (_, i) => fork(i))
    await Promise.all(forks.map((place) => subject.storage.create(place, { from: snap(1) })))
    for (const place of forks) expect(await treeAt(subject, place)).toEqual(before)
  })

  it('needs a snapshot, and a free place', async () => {
    const subject = await withVolume(open)
    const { storage } = subject
    await expect(storage.create(fork(1), { from: snap(1) })).rejects.toEqual(code('snapshot_not_found'))
    expect(await storage.list()).toEqual([volume])
    await storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'write', path: 'a', content: 'kept' })
    await expect(storage.create(volume, { from: snap(1) })).rejects.toEqual(code('file_exists'))
    expect(await treeAt(subject, volume)).toMatchObject({ a: { content: 'kept' } })
    expect(await storage.list()).toEqual([volume, snap(1)])
  })

  it('says so where a limit on its size cannot be kept', async () => {
    const { storage } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    const limited = storage.create(fork(1), { from: snap(1), maxBytes: 2 ** 26 })
    if (storage.capabilities.quota === 'kernel') await limited
    else await expect(limited).rejects.toEqual(code('unsupported'))
    expect(await storage.exists(fork(1))).toBe(storage.capabilities.quota === 'kernel')
  })
}
