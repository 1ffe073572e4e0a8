import { expect, it } from 'vitest'
import type { Place } from '../../../src/ports/storage-driver.ts'
import { code, staged, trashed, volume, type OpenStorage } from '../storage.ts'

/** Trees come, move and go as wholes. */
export function placesContract(open: OpenStorage): void {
  it('makes an empty tree with the mode that was asked for, whatever the umask', async () => {
    const { storage, read } = await open()
    const before = process.umask(0o077)
    try {
      await storage.create(staged, { mode: 0o751 })
    } finally {
      process.umask(before)
    }
    expect(read(staged)).toEqual({})
    expect(await storage.exists(staged)).toBe(true)
    expect(await storage.list()).toEqual([staged])
  })

  it('refuses a taken place and leaves what is there', async () => {
    const { storage, read, write } = await open()
    await storage.create(staged)
    write(staged, 'a', 'kept')
    await expect(storage.create(staged)).rejects.toEqual(code('file_exists'))
    expect(read(staged)).toMatchObject({ a: { content: 'kept' } })
  })

  it('moves a tree whole: nothing stays behind', async () => {
    const { storage, read, write } = await open()
    await storage.create(staged)
    write(staged, 'a', '1')
    await storage.move(staged, volume)
    expect(read(volume)).toMatchObject({ a: { content: '1' } })
    expect(await storage.exists(staged)).toBe(false)
    await storage.move(volume, trashed)
    await storage.move(trashed, volume)
    expect(await storage.list()).toEqual([volume])
  })

  it.each(['', 'a'])('never replaces a tree, %j in it', async (file) => {
    const { storage, read, write } = await open()
    await storage.create(staged)
    write(staged, 'new', '1')
    await storage.create(volume)
    if (file !== '') write(volume, file, 'old')
    await expect(storage.move(staged, volume)).rejects.toEqual(code('file_exists'))
    expect(Object.keys(read(volume))).toEqual(file === '' ? [] : [file])
    expect(Object.keys(read(staged))).toEqual(['new'])
  })

  it('has one winner when several move to one place', async () => {
    const { storage } = await open()
    const stages = Array.from({ length: 10 }, (_, i): Place => ({ area: 'tmp', name: `op_${i}` }))
    for (const stage of stages) await storage.create(stage)
    const results = await Promise.allSettled(stages.map((stage) => storage.move(stage, volume)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await storage.list()).toHaveLength(10)
  })

  it('does not keep waiting for a tree in the trash that is moved out of it', async () => {
    const { storage, write } = await open()
    await storage.create(volume)
    write(volume, 'a', '1')
    await storage.move(volume, trashed)
    const looks = Array.from({ length: 8 }, () => storage.usage(trashed, { own: true }))
    const [looked] = await Promise.all([Promise.allSettled(looks), storage.move(trashed, volume)])
    for (const look of looked) {
      if (look.status === 'fulfilled') expect(look.value).toMatchObject({ bytes: 1, files: 1 })
      else expect(look.reason).toEqual(code('workspace_not_found'))
    }
    expect(await storage.list()).toEqual([volume])
  })

  it('tells that there is nothing to move', async () => {
    const { storage } = await open()
    await expect(storage.move(staged, volume)).rejects.toEqual(code('workspace_not_found'))
  })

  it('erases a tree, also twice, and does not follow its links', async () => {
    const { storage, folder, write } = await open()
    const outside = folder({ precious: { kind: 'file', content: 'kept' } })
    await storage.create(staged)
    write(staged, 'a', '1')
    await storage.import(
      staged,
      {
        folder: folder({
          deep: { kind: 'directory' },
          'deep/er': { kind: 'directory', mode: 0o500 },
          'deep/er/file': { kind: 'file', content: 'x', mode: 0o400 },
          away: { kind: 'symlink', target: outside },
        }),
      },
      { into: 'in' },
    )
    await storage.erase(staged)
    await storage.erase(staged)
    expect(await storage.list()).toEqual([])
    await storage.create(staged)
    expect(await storage.import(staged, { folder: outside }, { into: '.' })).toMatchObject({ files: 1 })
  })

  it('measures a tree, up to a limit', async () => {
    const { storage, write } = await open()
    await storage.create(staged)
    write(staged, 'a', 'x'.repeat(1000))
    write(staged, 'b', 'y')
    expect(await storage.usage(staged)).toEqual({ bytes: 1001, files: 2, complete: true })
    expect(await storage.usage(staged, { maxFiles: 1 })).toMatchObject({ files: 1, complete: false })
    await expect(storage.usage(volume)).rejects.toEqual(code('workspace_not_found'))
    const { bytes, total } = await storage.free()
    expect(bytes).toBeGreaterThan(0)
    expect(total).toBeGreaterThanOrEqual(bytes)
  })

  it('holds a tree to a limit where the kernel can, and says so where it cannot', async () => {
    const { storage } = await open()
    await storage.create(staged)
    expect(await storage.room(staged)).toBeNull()
    if (storage.capabilities.quota === 'kernel') {
      await storage.limit(staged, 2 ** 26)
      expect(await storage.room(staged)).toBe(2 ** 26)
    } else await expect(storage.limit(staged, 2 ** 26)).rejects.toEqual(code('unsupported'))
  })

  it('tells where a tree is seen, whether it is there or not', async () => {
    const { storage } = await open()
    const { kind, path } = storage.attachment(volume)
    if (storage.capabilities.visibility === 'host') expect(kind).toBe('dir')
    expect(path).toMatch(/^\/.*\/volumes\/ws_1$/)
    expect(await storage.exists(volume)).toBe(false)
  })

  it('has a path for a plain one wherever it is', async () => {
    const subject = await open()
    const { storage } = subject
    await storage.create(volume, { plain: true, mode: 0o750 })
    expect(storage.attachment(volume).kind).toBe('dir')
    subject.write(volume, 'a', 'one')
    await storage.move(volume, trashed)
    await storage.move(trashed, volume)
    expect(subject.read(volume)).toMatchObject({ a: { content: 'one' } })
    expect(await storage.usage(volume)).toMatchObject({ bytes: 3, files: 1 })
    expect((await storage.read(volume, 'a', { maxBytes: 9 })).toString()).toBe('one')
    await storage.erase(volume)
    expect(await storage.list()).toEqual([])
  })

  it('does nothing without the marker of its root', async () => {
    const { storage, unmount } = await open()
    await storage.create(volume)
    unmount()
    const calls = [
      () => storage.create(staged),
      () => storage.import(volume, { folder: '/' }, { into: '.' }),
      () => storage.move(volume, trashed),
      () => storage.erase(volume),
      () => storage.exists(volume),
      () => storage.list(),
      () => storage.free(),
    ]
    for (const call of calls) await expect(call()).rejects.toEqual(code('storage_unavailable'))
  })
}
