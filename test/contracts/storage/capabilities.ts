import { renameSync, statSync } from 'node:fs'
import { expect, it } from 'vitest'
import { volume, type OpenStorage } from '../storage.ts'
import { canBeMapped } from './host.ts'
import { fork, snap, withVolume } from './trees.ts'

/** What a driver says it can and cannot do is so. For drivers whose trees somebody can get to by a path. */
export function capabilitiesContract(open: OpenStorage): void {
  it('renames a directory that came with a snapshot, or says that it cannot', async () => {
    const { storage } = await withVolume(open)
    await storage.snapshot(volume, snap(1))
    await storage.create(fork(1), { from: snap(1) })
    using reached = await storage.reach(fork(1))
    const rename = (): void => renameSync(`${reached.path}/d`, `${reached.path}/renamed`)
    if (storage.capabilities.dirRename) expect(rename).not.toThrow()
    else expect(rename).toThrow(expect.objectContaining({ code: 'EXDEV' }) as Error)
  })

  it('can be mounted as if it belonged to others, or says that it cannot', async () => {
    const { storage } = await withVolume(open)
    await storage.ready(volume)
    using reached = await storage.reach(volume)
    expect(storage.capabilities.idmap).toBe(await canBeMapped(reached.path))
  })

  it('has the same directory after a snapshot, or says that it may be another', async () => {
    const { storage } = await withVolume(open)
    const identity = async (): Promise<string> => {
      await storage.ready(volume)
      using reached = await storage.reach(volume)
      const { dev, ino } = statSync(reached.path, { bigint: true })
      return `${dev}:${ino}`
    }
    const before = await identity()
    await storage.snapshot(volume, snap(1))
    expect(storage.capabilities.remounts || (await identity()) === before).toBe(true)
  })

  it('gives a reason for each thing that it cannot do', async () => {
    const { storage } = await open()
    const { hardlinks, dirRename, unfaithful } = storage.capabilities
    const said = unfaithful.map(({ what }) => what)
    expect(said.includes('hard links')).toBe(!hardlinks)
    expect(said.includes('renames of directories')).toBe(!dirRename)
  })
}
