import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Place, StorageDriver } from '../../ports/storage-driver.ts'
import { collect } from '../../../test/support/collect.ts'
import { volume } from '../../../test/contracts/storage.ts'
import { dirStorage } from './dir/driver.ts'

const snap = (number: number): Place => ({ area: 'snapshots', name: `sn_${number}` })

// Only root may mount.
const isRoot = process.getuid?.() === 0

/** A volume with a file below a directory that something can be mounted on. */
async function withHidden(name: string): Promise<{ storage: StorageDriver; where: string; hide: () => Disposable }> {
  const base = mkdtempSync(join(tmpdir(), 'aw-mounted-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
  await storage.create(volume)
  const where = join(storage.attachment(volume).path, name)
  mkdirSync(where, { recursive: true })
  writeFileSync(join(where, 'under'), 'under')
  mkdirSync(join(base, 'other'))
  const hide = (): Disposable => {
    execFileSync('mount', ['--bind', join(base, 'other'), where])
    return { [Symbol.dispose]: () => void execFileSync('umount', [where]) }
  }
  return { storage, where, hide }
}

it.each(isRoot ? ['work/mnt', 'a b\\c/größe'] : [])(
  'dir keeps no tree in which %s is mounted on, and says so',
  async (name) => {
    const { storage, where, hide } = await withHidden(name)
    const refusal: unknown = expect.objectContaining({
      code: 'workspace_active',
      message: expect.stringContaining(`Something is mounted at ${name}`) as unknown,
      hint: expect.stringContaining(`umount ${where}`) as unknown,
      data: { path: name },
    })
    await storage.snapshot(volume, snap(1))
    writeFileSync(join(where, 'later'), 'later')
    {
      using _ = hide()
      await expect(storage.snapshot(volume, snap(2))).rejects.toEqual(refusal)
      await expect(storage.restore(volume, snap(1), snap(2))).rejects.toEqual(refusal)
      await expect(collect(storage.diff(snap(1), volume, { exact: true }))).rejects.toEqual(refusal)
      expect(await storage.restore(volume, snap(1), snap(2), { resume: snap(3) })).toBeUndefined()
      expect(await storage.list()).toEqual([volume, snap(1)])
    }
    expect(readFileSync(join(where, 'later'), 'utf8')).toBe('later')
    await storage.restore(volume, snap(1), snap(2))
    expect(await collect(storage.diff(snap(1), volume))).toEqual([])
    expect(await collect(storage.diff(volume, snap(2)))).toMatchObject([{ change: 'added' }])
  },
)

it.each(isRoot ? ['mnt'] : [])('dir compares two trees without %s that is mounted on in one of them', async (name) => {
  const { storage, hide } = await withHidden(name)
  const other: Place = { area: 'volumes', name: 'ws_2' }
  await storage.snapshot(volume, snap(1))
  await storage.create(other, { from: snap(1) })
  using _ = hide()
  expect(await collect(storage.diff(volume, other))).toEqual([])
  expect(await collect(storage.diff(other, volume))).toEqual([])
  await expect(collect(storage.diff(other, volume, { exact: true }))).rejects.toThrow('mounted at mnt')
})

it('what is mounted in what is none of the content of a tree is no matter', async () => {
  const { storage, hide } = await withHidden('.own/mnt')
  using _ = isRoot ? hide() : undefined
  const exclude = ['.own']
  expect(await storage.snapshot(volume, snap(1), { exclude })).toMatchObject({ consistency: 'atomic' })
  expect(await collect(storage.diff(snap(1), volume, { exclude, exact: true }))).toEqual([])
})
