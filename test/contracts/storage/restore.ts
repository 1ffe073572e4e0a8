import { expect, it } from 'vitest'
import type { Edit } from '../../support/edits.ts'
import { code, volume, type OpenStorage } from '../storage.ts'
import { changes, fork, keepsLinks, snap, treeAt, withVolume } from './trees.ts'

/** All sorts of things happen to the sample. */
const havoc: readonly Edit[] = [
  { do: 'write', path: 'a', content: 'other content, and longer' },
  { do: 'chmod', path: 'x', mode: 0o600 },
  { do: 'rename', path: 'd/e', to: 'e' },
  { do: 'remove', path: 'd' },
  { do: 'write', path: 'd', content: 'was a directory' },
  { do: 'remove', path: 'l' },
  { do: 'mkdir', path: 'l' },
  { do: 'write', path: 'l/inside', content: 'was a link' },
  { do: 'link', path: 'c', to: 'x' },
  { do: 'mkdir', path: 'new' },
  { do: 'symlink', path: 'new/link', target: '../x' },
]

/** Making a volume equal to a snapshot. */
export function restoreContract(open: OpenStorage): void {
  it('makes the volume equal to the snapshot, and keeps what it was', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, ...havoc)
    const wrecked = subject.read(volume)
    const frozen = await subject.storage.restore(volume, snap(1), snap(2))
    expect(await treeAt(subject, volume)).toEqual(before)
    expect(await treeAt(subject, snap(1))).toEqual(before)
    expect(await treeAt(subject, snap(2))).toEqual(wrecked)
    expect(frozen).toEqual({ mechanism: expect.stringMatching(/\S/) as unknown, consistency: 'atomic', changed: null })
    expect(await changes(subject, snap(1), volume)).toEqual([])
    expect(await subject.storage.list()).toEqual([volume, snap(1), snap(2)])
  })

  it('tells how much was changed since, if it knows', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'write', path: 'new', content: '' }, { do: 'append', path: 'x', content: 'x' })
    const frozen = await subject.storage.restore(volume, snap(1), snap(2), { since: snap(1) })
    expect([null, 2]).toContain(frozen?.changed)
  })

  it('sees a change that keeps size and time', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'forge', path: 'd/e/f', content: 'DEEP' })
    await subject.storage.restore(volume, snap(1), snap(2), { since: snap(1) })
    expect(await treeAt(subject, volume)).toMatchObject({ 'd/e/f': { content: 'deep' } })
    expect(await treeAt(subject, snap(2))).toMatchObject({ 'd/e/f': { content: 'DEEP' } })
  })

  it('of an unchanged volume changes nothing, and keeps it all the same', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.restore(volume, snap(1), snap(2), { since: snap(1) })
    for (const place of [volume, snap(1), snap(2)]) expect(await treeAt(subject, place)).toEqual(before)
  })

  it('goes back and forth: to what it kept, and again', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, ...havoc)
    const wrecked = subject.read(volume)
    await subject.storage.restore(volume, snap(1), snap(2))
    await subject.storage.restore(volume, snap(2), snap(3))
    expect(await treeAt(subject, volume)).toEqual(wrecked)
    expect(await treeAt(subject, snap(3))).toEqual(before)
    await subject.storage.restore(volume, snap(3), snap(4))
    expect(await treeAt(subject, volume)).toEqual(before)
    for (const number of [2, 4]) expect(await treeAt(subject, snap(number))).toEqual(wrecked)
  })

  it('twice in a row to one snapshot', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    for (const number of [2, 3]) {
      subject.edit(volume, { do: 'write', path: 'a', content: `try ${number}` })
      await subject.storage.restore(volume, snap(1), snap(number))
      expect(await treeAt(subject, volume)).toEqual(before)
      expect(await treeAt(subject, snap(number))).toMatchObject({ a: { content: `try ${number}` } })
    }
  })

  it('leaves newer snapshots as they are', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, ...havoc)
    const newer = subject.read(volume)
    await subject.storage.snapshot(volume, snap(2))
    await subject.storage.restore(volume, snap(1), snap(3))
    expect(await treeAt(subject, snap(2))).toEqual(newer)
    await subject.storage.restore(volume, snap(2), snap(4))
    expect(await treeAt(subject, volume)).toEqual(newer)
  })

  it('goes on from there: writes, snapshots and forks after it are as ever', async () => {
    const subject = await withVolume(open)
    const before = subject.read(volume)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, ...havoc)
    await subject.storage.restore(volume, snap(1), snap(2))
    subject.edit(volume, { do: 'append', path: 'b', content: 'two\n' })
    await subject.storage.snapshot(volume, snap(3), { since: snap(1) })
    await subject.storage.create(fork(1), { from: snap(3) })
    const [a, b] = keepsLinks(subject) ? ['one\ntwo\n', { to: 'a' }] : ['one\n', { content: 'one\ntwo\n' }]
    expect(await treeAt(subject, fork(1))).toMatchObject({ a: { content: a }, b })
    expect(await treeAt(subject, snap(1))).toEqual(before)
  })

  it('to the snapshot of another volume', async () => {
    const subject = await withVolume(open)
    await subject.storage.create(fork(1))
    subject.write(fork(1), 'alone', 'here')
    await subject.storage.snapshot(fork(1), snap(1))
    await subject.storage.restore(volume, snap(1), snap(2))
    expect(await treeAt(subject, volume)).toMatchObject({ alone: { content: 'here' } })
    subject.write(volume, 'alone', 'changed')
    expect(await treeAt(subject, fork(1))).toMatchObject({ alone: { content: 'here' } })
  })

  it('leaves out names that are none of the content', async () => {
    const subject = await withVolume(open)
    const exclude = ['.own']
    subject.edit(volume, { do: 'mkdir', path: '.own' }, { do: 'write', path: '.own/state', content: 'first' })
    await subject.storage.snapshot(volume, snap(1), { exclude })
    subject.edit(volume, { do: 'write', path: '.own/state', content: 'second' }, ...havoc)
    expect(await changes(subject, snap(1), volume, exclude)).not.toContainEqual(
      expect.objectContaining({ path: expect.stringMatching(/^\.own/) as unknown }),
    )
    await subject.storage.restore(volume, snap(1), snap(2), { exclude })
    expect(await changes(subject, snap(1), volume, exclude)).toEqual([])
    if (subject.storage.capabilities.restore === 'in place')
      expect(await treeAt(subject, volume)).toMatchObject({ '.own/state': { content: 'second' } })
  })

  it('counts nothing that is left out', async () => {
    const subject = await withVolume(open)
    const exclude = ['.own']
    subject.edit(volume, { do: 'mkdir', path: '.own' })
    await subject.storage.snapshot(volume, snap(1), { exclude })
    subject.edit(volume, { do: 'write', path: '.own/state', content: '' }, { do: 'write', path: 'new', content: '' })
    const { changed } = await subject.storage.snapshot(volume, snap(2), { exclude, since: snap(1) })
    expect([null, 1]).toContain(changed)
    expect(await changes(subject, snap(1), snap(2), exclude)).toMatchObject([{ path: 'new' }])
  })

  it('has nothing to resume where nothing was begun', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, ...havoc)
    const before = subject.read(volume)
    expect(await subject.storage.restore(volume, snap(1), snap(2), { resume: snap(3) })).toBeUndefined()
    expect(await treeAt(subject, volume)).toEqual(before)
    expect(await subject.storage.list()).toEqual([volume, snap(1)])
  })

  it('refuses an unknown snapshot, a missing volume and a taken place, and nothing has changed', async () => {
    const subject = await withVolume(open)
    const { storage } = subject
    await storage.snapshot(volume, snap(1))
    subject.edit(volume, ...havoc)
    const before = subject.read(volume)
    await expect(storage.restore(volume, snap(7), snap(8))).rejects.toEqual(code('snapshot_not_found'))
    await expect(storage.restore(fork(7), snap(1), snap(8))).rejects.toEqual(code('workspace_not_found'))
    await expect(storage.restore(volume, snap(1), snap(1))).rejects.toEqual(code('file_exists'))
    expect(await treeAt(subject, volume)).toEqual(before)
    expect(await storage.list()).toEqual([volume, snap(1)])
  })
}
