/** A storage root whose path holds what means something to the kernel. As root, and as an ordinary user. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { initHome, openAw } from '../../../src/index.ts'
import { mountsOf } from '../../../src/sys/fs/mounts.ts'
import { fork, open, snap, subject, volume } from './fixture.ts'
import { endBoxes } from '../../support/end-boxes.ts'

const isRoot = process.getuid?.() === 0

it.each(['back\\slash', 'oct\\040al\\\\', 'co:lon', 'com,ma', 'sp ace', `quo'te"`])(
  'a tree is made, frozen, forked and found below %s',
  async (name) => {
    const { base, storage } = subject(name)
    expect(await storage.probe()).toMatchObject({ usable: true })
    const write = async (content: string): Promise<void> => {
      using tree = await storage.reach(volume)
      fs.writeFileSync(join(tree.path, 'file'), content)
    }
    await storage.create(volume)
    await write('one')
    expect((await storage.snapshot(volume, snap(1))).mechanism).toBe('overlay freeze')
    await write('two')
    await storage.create(fork(1), { from: snap(1) })
    expect((await storage.read(fork(1), 'file', { maxBytes: 10 })).toString()).toBe('one')
    await storage.restore(volume, snap(1), snap(2))
    expect((await open(base).read(snap(2), 'file', { maxBytes: 10 })).toString()).toBe('two')
    const layer = fs.readlinkSync(join(base, `storage/records/volumes.${volume.name}`)).split(':')[0] ?? ''
    const upper = join(base, 'storage/layers', layer, 'fs')
    expect((mountsOf('self') ?? []).filter((mount) => mount.upper === upper)).toHaveLength(isRoot ? 1 : 0)
  },
)

it('a sandbox works in a tree below such a path', { timeout: 60_000 }, async () => {
  const { base } = subject('back\\slash')
  const home = join(base, 'home')
  await initHome({ home, env: {}, storage: 'overlay' })
  await using aw = await openAw({ home, env: {} })
  const workspace = await aw.create({ id: 'one' })
  try {
    await workspace.start()
    const { stdout } = await workspace.exec(['sh', '-c', 'echo made > file; cat file']).text()
    expect(stdout).toBe('made\n')
    // While the sandbox has it mounted, it is looked into where that has it.
    expect(Buffer.from(await aw.fs.read('one', { path: 'work/file' })).toString()).toBe('made\n')
    await workspace.stop()
  } finally {
    await endBoxes(home)
  }
})
