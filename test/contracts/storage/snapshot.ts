import { expect, it } from 'vitest'
import type { Place } from '../../../src/ports/storage-driver.ts'
import { code, staged, volume, type OpenStorage } from '../storage.ts'
import { changes, keepsLinks, sample, snap, treeAt, withVolume } from './trees.ts'

/** Freezing a volume into a new place. */
export function snapshotContract(open: OpenStorage): void {
  it('equals the tree it was taken of', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    const frozen = await subject.storage.snapshot(volume, snap(1))
    expect(await treeAt(subject, snap(1))).toEqual(before)
    expect(await treeAt(subject, volume)).toEqual(before)
    expect(await changes(subject, snap(1), volume)).toEqual([])
    expect(frozen).toEqual({ mechanism: expect.stringMatching(/\S/) as unknown, consistency: 'atomic', changed: null })
  })

  it('stays as it is whatever happens to the volume, and the volume goes on', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(
      volume,
      { do: 'append', path: 'a', content: 'two\n' },
      { do: 'write', path: 'd/e/f', content: 'other' },
      { do: 'rename', path: 'd/e', to: 'moved' },
      { do: 'remove', path: 'd' },
      { do: 'chmod', path: 'x', mode: 0o600 },
      { do: 'truncate', path: 'x', size: 3 },
      { do: 'remove', path: 'l' },
      { do: 'mkdir', path: 'l' },
      { do: 'write', path: 'l/new', content: 'new' },
    )
    expect(await treeAt(subject, snap(1))).toEqual(before)
    expect(await treeAt(subject, volume)).toMatchObject({
      a: { content: 'one\ntwo\n' },
      b: keepsLinks(subject) ? { to: 'a' } : { content: 'one\n' },
      'moved/f': { content: 'other' },
      x: { content: '#!/', mode: 0o600 },
      'l/new': { content: 'new' },
    })
  })

  it('is one of many: each keeps the tree of its own moment', async () => {
    const subject = await withVolume(open)
    const states = []
    for (const number of [1, 2, 3, 4, 5]) {
      subject.edit(
        volume,
        { do: 'write', path: 'a', content: `version ${number}` },
        { do: 'write', path: `only-${number}`, content: 'x' },
      )
      if (number > 1) subject.edit(volume, { do: 'remove', path: `only-${number - 1}` })
      states.push(subject.read(volume))
      const since = number > 1 ? snap(number - 1) : undefined
      const { changed, consistency } = await subject.storage.snapshot(volume, snap(number), { since })
      expect(consistency).toBe('atomic')
      // Both names of `a`, the new file and the one that went.
      if (since !== undefined) expect([null, keepsLinks(subject) ? 4 : 3]).toContain(changed)
    }
    for (const [i, state] of states.entries()) expect(await treeAt(subject, snap(i + 1))).toEqual(state)
  })

  it('of a tree in which nothing has changed tells so', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    const { changed } = await subject.storage.snapshot(volume, snap(2), { since: snap(1) })
    expect([null, 0]).toContain(changed)
    expect(await changes(subject, snap(1), snap(2))).toEqual([])
    expect(await treeAt(subject, snap(2))).toEqual(await treeAt(subject, snap(1)))
  })

  it('sees a change that keeps size and time, also right after the last snapshot', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'forge', path: 'd/e/f', content: 'DEEP' })
    await subject.storage.snapshot(volume, snap(2), { since: snap(1) })
    expect(await treeAt(subject, snap(2))).toMatchObject({ 'd/e/f': { content: 'DEEP' } })
    expect(await treeAt(subject, snap(1))).toMatchObject({ 'd/e/f': { content: 'deep' } })
  })

  it('sees every one of many quick changes of one file', async () => {
    const subject = await withVolume(open)
    const contents = Array.from({ length: 10 }, (_, i) => `state ${i}`)
    for (const [i, content] of contents.entries()) {
      subject.edit(volume, { do: 'write', path: 'a', content })
      await subject.storage.snapshot(volume, snap(i), { since: i === 0 ? undefined : snap(i - 1) })
    }
    for (const [i, content] of contents.entries()) {
      expect((await subject.storage.read(snap(i), 'a', { maxBytes: 100 })).toString()).toBe(content)
    }
  })

  it('is not misled by a wrong hint of what the volume was equal to', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'write', path: 'a', content: 'two\n' })
    await subject.storage.snapshot(volume, snap(2), { since: snap(1) })
    subject.edit(volume, { do: 'write', path: 'a', content: 'six\n' })
    await subject.storage.snapshot(volume, snap(3), { since: snap(1) })
    await subject.storage.snapshot(volume, snap(4), { since: snap(99) })
    for (const number of [3, 4]) expect(await treeAt(subject, snap(number))).toMatchObject({ a: { content: 'six\n' } })
  })

  it('of an empty tree is an empty tree', async () => {
    const subject = await open()
    await subject.storage.create(volume)
    await subject.storage.snapshot(volume, snap(1))
    subject.write(volume, 'a', '1')
    expect(await treeAt(subject, snap(1))).toEqual({})
    expect(await changes(subject, snap(1), volume)).toMatchObject([{ path: 'a', change: 'added' }])
  })

  it('of a tree that is being built becomes a base', async () => {
    const subject = await open()
    const base: Place = { area: 'bases', name: 'base_1' }
    await subject.storage.create(staged)
    await subject.storage.import(staged, { folder: subject.folder(sample) }, { into: '.' })
    const before = subject.read(staged)
    await subject.storage.snapshot(staged, base)
    await subject.storage.erase(staged)
    await subject.storage.create(volume, { from: base })
    expect(await treeAt(subject, volume)).toEqual(before)
    expect(await subject.storage.list()).toEqual([volume, base])
  })

  it('is there when it is told to be, and after a restart', async () => {
    const subject = await withVolume(open)
    const { storage } = subject
    expect(await storage.exists(snap(1))).toBe(false)
    await storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'write', path: 'a', content: 'changed' })
    await storage.snapshot(volume, snap(2), { since: snap(1) })
    await using again = await subject.reopen()
    for (const driver of [storage, again]) {
      expect(await driver.exists(snap(1))).toBe(true)
      expect(await driver.exists(snap(3))).toBe(false)
      expect(await driver.list()).toEqual([volume, snap(1), snap(2)])
    }
    expect((await again.read(snap(1), 'a', { maxBytes: 100 })).toString()).toBe('one\n')
    await again.snapshot(volume, snap(3), { since: snap(2) })
    expect(await changes(subject, snap(2), snap(3))).toEqual([])
  })

  it('refuses a taken place, and what is there stays', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    const before = await treeAt(subject, snap(1))
    subject.edit(volume, { do: 'remove', path: 'a' })
    await expect(subject.storage.snapshot(volume, snap(1))).rejects.toEqual(code('file_exists'))
    expect(await treeAt(subject, snap(1))).toEqual(before)
  })

  it('needs a volume', async () => {
    const { storage } = await open()
    await expect(storage.snapshot(volume, snap(1))).rejects.toEqual(code('workspace_not_found'))
    expect(await storage.list()).toEqual([])
  })

  it('leaves nothing behind besides itself', async () => {
    const { storage } = await withVolume(open)
    await storage.snapshot(volume, snap(1), { consistent: true })
    expect(await storage.list()).toEqual([volume, snap(1)])
  })

  it('does nothing without the marker of its root', async () => {
    const { storage, unmount } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    unmount()
    const calls = [
      () => storage.snapshot(volume, snap(2)),
      () => storage.restore(volume, snap(1), snap(2)),
      () => storage.create(staged, { from: snap(1) }),
      () => storage.read(snap(1), 'a', { maxBytes: 100 }),
      () => storage.verify(snap(1)),
      () => storage.erase(snap(1)),
      () => storage.diff(snap(1), volume)[Symbol.asyncIterator]().next(),
    ]
    for (const call of calls) await expect(call()).rejects.toEqual(code('storage_unavailable'))
  })
}
