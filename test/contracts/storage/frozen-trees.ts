import { expect, it } from 'vitest'
import { code, staged, volume, type OpenStorage, type StorageSubject } from '../storage.ts'
import { fork, keepsLinks, sample, snap, treeAt, withVolume } from './trees.ts'

/** Three snapshots of a volume, each with a state of its own. */
async function withThree(open: OpenStorage): Promise<StorageSubject> {
  const subject = await withVolume(open)
  for (const number of [1, 2, 3]) {
    subject.edit(
      volume,
      { do: 'write', path: 'a', content: `state ${number}` },
      { do: 'write', path: `own-${number}`, content: `only from ${number} on` },
    )
    await subject.storage.snapshot(volume, snap(number), { since: number === 1 ? undefined : snap(number - 1) })
  }
  return subject
}

const orders = [
  [1, 2, 3],
  [1, 3, 2],
  [2, 1, 3],
  [2, 3, 1],
  [3, 1, 2],
  [3, 2, 1],
]

/** What is kept stays whole: verified, measured, erased in any order, copied from. */
export function keepingContract(open: OpenStorage): void {
  it('finds a whole snapshot to be whole', async () => {
    const subject = await withThree(open)
    const { storage } = subject
    for (const number of [1, 2, 3]) {
      const { method, files, bytes, problems } = await storage.verify(snap(number))
      // Of two names that have become two files, the one keeps what both were.
      const parted = number > 1 && !keepsLinks(subject)
      const expected = { files: 3 + number + (parted ? 1 : 0), bytes: 21 + 14 * number + (parted ? 7 : 0) }
      expect({ files, bytes, problems }).toEqual({ ...expected, problems: [] })
      expect(['hashes', 'checksums', 'none']).toContain(method)
    }
    await expect(storage.verify(snap(7))).rejects.toEqual(code('snapshot_not_found'))
  })

  it.each(orders)('erases snapshots in the order %i, %i, %i, and the others stay whole', async (...order) => {
    const subject = await withThree(open)
    const { storage } = subject
    await storage.create(fork(1), { from: snap(2) })
    for (const [i, number] of order.entries()) {
      await storage.erase(snap(number))
      await storage.erase(snap(number))
      expect(await storage.exists(snap(number))).toBe(false)
      await expect(storage.create(staged, { from: snap(number) })).rejects.toEqual(code('snapshot_not_found'))
      for (const left of order.slice(i + 1)) {
        expect(await treeAt(subject, snap(left))).toMatchObject({ a: { content: `state ${left}` } })
        expect((await storage.verify(snap(left))).problems).toEqual([])
      }
    }
    expect(await treeAt(subject, volume)).toMatchObject({ a: { content: 'state 3' } })
    expect(await treeAt(subject, fork(1))).toMatchObject({ a: { content: 'state 2' }, 'own-2': {} })
    expect(await storage.list()).toEqual([volume, fork(1)])
  })

  it('takes the name of an erased snapshot again', async () => {
    const subject = await withThree(open)
    await subject.storage.erase(snap(2))
    await subject.storage.snapshot(volume, snap(2), { since: snap(1) })
    expect(await treeAt(subject, snap(2))).toMatchObject({ a: { content: 'state 3' } })
  })

  it('keeps the snapshots of a volume that is erased', async () => {
    const subject = await withThree(open)
    await subject.storage.erase(volume)
    await using again = await subject.reopen()
    expect(await again.list()).toEqual([snap(1), snap(2), snap(3)])
    expect(await treeAt(subject, snap(1))).toMatchObject({ a: { content: 'state 1' }, b: { to: 'a' } })
    await subject.storage.create(volume, { from: snap(3) })
    expect(await treeAt(subject, volume)).toMatchObject({ a: { content: 'state 3' } })
  })

  it('measures a snapshot as the tree it is', async () => {
    const { storage } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    const size = { bytes: 18, files: 3, complete: true }
    expect(await storage.usage(volume)).toEqual(size)
    expect(await storage.usage(snap(1))).toEqual(size)
    for (const maxFiles of [1, 2])
      expect(await storage.usage(snap(1), { maxFiles })).toMatchObject({ files: maxFiles, complete: false })
    await expect(storage.usage(snap(7))).rejects.toEqual(code('snapshot_not_found'))
  })

  it('tells what a tree alone takes, where that can be told', async () => {
    const { storage, write } = await open()
    await storage.create(volume)
    write(volume, 'large', 'large '.repeat(200_000))
    await storage.sync(volume)
    const { own, bytes } = await storage.usage(volume, { own: true })
    expect(own === null || (own ?? -1) >= bytes).toBe(true)
    await storage.snapshot(volume, snap(1))
    for (const place of [volume, snap(1)]) {
      const shared = (await storage.usage(place, { own: true })).own
      expect(shared === null || (shared ?? -1) >= 0).toBe(true)
    }
  })

  it('copies a snapshot into a tree', async () => {
    const subject = await withThree(open)
    const before = await treeAt(subject, snap(1))
    await subject.storage.create(staged)
    const report = await subject.storage.import(staged, { place: snap(1) }, { into: 'deep/er' })
    expect(report).toMatchObject({ files: 4, skipped: [] })
    const seen = await treeAt(subject, staged)
    for (const [path, entry] of Object.entries(before))
      expect(seen[`deep/er/${path}`]).toEqual(
        entry.kind === 'hardlink' ? { ...entry, to: `deep/er/${entry.to}` } : entry,
      )
    expect(Object.keys(seen)).toHaveLength(Object.keys(before).length + 2)
    subject.write(staged, 'deep/er/a', 'mine')
    expect(await treeAt(subject, snap(1))).toEqual(before)
  })

  it('tells what of a path is a file that has names elsewhere in the tree', async () => {
    const subject = await withVolume(open)
    const { storage } = subject
    const link = (path: string, to: string) => ({ do: 'link', path, to }) as const
    // Files with two names, with three of which two are in one directory, and with two in one.
    subject.edit(volume, link('d/e/x', 'x'), link('d/x', 'x'), { do: 'write', path: 'd/one', content: '1' })
    subject.edit(volume, link('d/two', 'd/one'))
    await storage.snapshot(volume, snap(1))
    await storage.create(staged)
    const apart = async (path: string, into: string): Promise<unknown> =>
      (await storage.import(staged, { place: snap(1), path }, { into })).apart
    expect(await apart('b', '1')).toEqual(['b'])
    expect(await apart('d/e', '2')).toEqual(['d/e/x'])
    expect(await apart('d', '3')).toEqual(['d/e/x', 'd/x'])
    expect(await apart('d/two', '4')).toEqual(['d/two'])
    for (const [i, whole] of ['.', 'l', 'd/empty', 'd/e/f'].entries())
      expect([whole, await apart(whole, `whole ${i}`)]).toEqual([whole, undefined])
  })

  it('copies one path of a snapshot: what is in a directory, or a file under its name', async () => {
    const subject = await withVolume(open)
    const { storage } = subject
    await storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'remove', path: 'd' }, { do: 'remove', path: 'x' })
    const copy = (path: string, into: string) => storage.import(volume, { place: snap(1), path }, { into })
    expect((await copy('d', 'd')).single ?? false).toBe(false)
    expect(await copy('x', '.')).toMatchObject({ files: 1, bytes: 10, single: true })
    expect(await copy('l', 'links')).toMatchObject({ files: 0, single: true })
    const seen = await treeAt(subject, volume)
    for (const path of ['d', 'd/e', 'd/e/f', 'd/empty', 'x']) expect([path, seen[path]]).toEqual([path, sample[path]])
    expect(seen['links/l']).toEqual(sample['l'])
    for (const path of ['missing', 'a/b']) await expect(copy(path, '.')).rejects.toEqual(code('file_not_found'))
  })

  it('copies what is no file too, and permissions as they are, since it is a tree of its own', async () => {
    const subject = await withVolume(open)
    subject.edit(volume, { do: 'fifo', path: 'd/pipe' }, { do: 'chmod', path: 'x', mode: 0o6755 })
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.create(staged)
    expect(await subject.storage.import(staged, { place: snap(1) }, { into: '.' })).toMatchObject({ skipped: [] })
    expect(await treeAt(subject, staged)).toEqual(await treeAt(subject, volume))
  })
}
