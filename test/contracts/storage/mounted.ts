import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { collect } from '../../support/collect.ts'
import { code, type OpenStorage, type StorageSubject, volume } from '../storage.ts'
import { isRoot } from './host.ts'
import { changes, sample, snap, treeAt, withVolume } from './trees.ts'

/** Something else is seen at a path of the volume until this is disposed of. */
function mountOn({ storage, folder }: StorageSubject, path: string): Disposable {
  const isFile = sample[path]?.kind === 'file'
  const other = folder({ other: { kind: 'file', content: 'of somebody else' } })
  const where = join(storage.attachment(volume).path, path)
  execFileSync('mount', ['--bind', isFile ? join(other, 'other') : other, where])
  return { [Symbol.dispose]: () => void execFileSync('umount', [where]) }
}

/** What is mounted in a tree by others, and what it hides. Only root may mount. */
export function mountedContract(open: OpenStorage): void {
  const kinds = isRoot ? ['directory', 'file'] : []
  const pathOf = (kind: string): string => (kind === 'file' ? 'x' : 'd')

  it.each(kinds)('does not take for removed what a %s is mounted on', async (kind) => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(
      volume,
      { do: 'mkdir', path: 'new' },
      { do: 'write', path: 'new/file', content: '' },
      { do: 'write', path: 'a', content: 'two' },
    )
    using _ = mountOn(subject, pathOf(kind))
    using __ = mountOn(subject, 'new')
    const told = (await changes(subject, snap(1), volume)).map(({ path, change }) => `${change} ${path}`)
    expect(told.filter((one) => one !== 'added new/file')).toEqual(['changed a', 'changed b', 'added new'])
    const back = (await changes(subject, volume, snap(1))).map(({ path, change }) => `${change} ${path}`)
    expect(back.filter((one) => one !== 'removed new/file')).toEqual(['changed a', 'changed b', 'removed new'])
  })

  it.each(kinds)('keeps what a %s is mounted on, or keeps nothing', async (kind) => {
    const subject = await withVolume(open)
    const before = await treeAt(subject, volume)
    const kept = await hidden(subject, pathOf(kind), () => subject.storage.snapshot(volume, snap(1)))
    expect(await subject.storage.exists(snap(1))).toBe(kept)
    if (!kept) await subject.storage.snapshot(volume, snap(1))
    await subject.storage.restore(volume, snap(1), snap(2))
    for (const place of [volume, snap(1), snap(2)]) expect(await treeAt(subject, place)).toEqual(before)
  })

  it.each(kinds)('restores nothing where a %s is mounted, or all of it', async (kind) => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    const before = await treeAt(subject, volume)
    subject.edit(volume, { do: 'write', path: 'later', content: 'later' })
    const later = await treeAt(subject, volume)
    const done = await hidden(subject, pathOf(kind), () => subject.storage.restore(volume, snap(1), snap(2)))
    expect(await treeAt(subject, volume)).toEqual(done ? before : later)
    if (done) expect(await treeAt(subject, snap(2))).toEqual(later)
    else expect(await subject.storage.exists(snap(2))).toBe(false)
  })

  it.each(kinds)('does not take a tree for another where a %s is mounted on what differs', async (kind) => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    subject.edit(volume, { do: 'write', path: kind === 'file' ? 'x' : 'd/later', content: 'later' })
    const differs = async (): Promise<void> =>
      expect(await collect(subject.storage.diff(snap(1), volume, { exact: true }))).not.toEqual([])
    await hidden(subject, pathOf(kind), differs)
  })

  /** False if it was refused. */
  async function hidden(subject: StorageSubject, path: string, use: () => Promise<unknown>): Promise<boolean> {
    using _ = mountOn(subject, path)
    try {
      await use()
      return true
    } catch (error) {
      expect(error).toEqual(code('workspace_active'))
      return false
    }
  }
}
