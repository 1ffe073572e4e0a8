import { expect, it } from 'vitest'
import { volume, type OpenStorage } from '../storage.ts'
import { pathOf, setAttribute, tellTree } from './host.ts'
import { changes, fork, snap, withVolume } from './trees.ts'

const told = (path: string): unknown => expect.objectContaining({ path, change: 'changed', what: ['attributes'] })

/** Extended attributes are content like any other. */
export function attributesContract(open: OpenStorage): void {
  it('a difference tells attributes of files and directories', async () => {
    const subject = await withVolume(open)
    const path = await pathOf(subject, volume)
    await subject.storage.snapshot(volume, snap(1))
    setAttribute(`${path}/x`, 'user.note', 'one')
    setAttribute(`${path}/d/e`, 'user.note', 'two')
    expect(await changes(subject, snap(1), volume)).toEqual([told('d/e'), told('x')])
    await subject.storage.snapshot(volume, snap(2), { since: snap(1) })
    expect(await changes(subject, snap(1), snap(2))).toEqual([told('d/e'), told('x')])
    setAttribute(`${path}/x`, 'user.note', 'six')
    expect(await changes(subject, snap(2), volume)).toEqual([told('x')])
    setAttribute(`${path}/x`, 'user.note', undefined)
    expect(await changes(subject, snap(1), volume)).toEqual([told('d/e')])
  })

  it('attributes of one tree are seen in no other', async () => {
    const subject = await withVolume(open)
    await subject.storage.snapshot(volume, snap(1))
    await subject.storage.create(fork(1), { from: snap(1) })
    const [source, forked] = [await pathOf(subject, volume), await pathOf(subject, fork(1))]
    const before = await tellTree(source)
    for (const name of ['a', 'd', 'd/e/f']) setAttribute(`${forked}/${name}`, 'user.note', 'mine')
    expect(await tellTree(source)).toEqual(before)
    const changed = await tellTree(forked)
    for (const name of ['a', 'd', 'd/e/f']) setAttribute(`${source}/${name}`, 'user.note', 'yours')
    expect(await tellTree(forked)).toEqual(changed)
  })

  it('a restore brings attributes back, and takes new ones away', async () => {
    const subject = await withVolume(open)
    const path = await pathOf(subject, volume)
    setAttribute(`${path}/x`, 'user.kept', 'kept')
    const before = await tellTree(path)
    await subject.storage.snapshot(volume, snap(1))
    setAttribute(`${path}/x`, 'user.kept', 'changed')
    setAttribute(`${path}/x`, 'user.new', 'new')
    setAttribute(`${path}/d`, 'user.new', 'new')
    await subject.storage.restore(volume, snap(1), snap(2), { since: snap(1) })
    expect(await tellTree(await pathOf(subject, volume))).toEqual(before)
  })
}
