import { expect, it } from 'vitest'
import { collect } from '../../support/collect.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import { code, forkOf, type OpenManager } from '../manager.ts'

const KB = 1024
const bytes = (count: number): Buffer => Buffer.alloc(count, 'x')
const full = (): unknown => code('quota_exceeded', { limit_mb: 1 })

export function spaceContract(open: OpenManager): void {
  it('holds a workspace to its size limit, and lets everything be read, removed, destroyed and brought back', async () => {
    const { aw, manager } = await open()
    const ws = await aw.create({ id: 'a', config: { max_size_mb: 1 } })
    await ws.files.write('work/large', bytes(900 * KB))
    await expect(ws.files.write('work/more', bytes(200 * KB))).rejects.toEqual(full())
    await expect(ws.files.append('work/large', bytes(200 * KB))).rejects.toEqual(full())
    await expect(ws.files.copy('work/large', 'work/copy')).rejects.toEqual(full())
    await expect(manager.call('fs copy', { id: 'a', from: 'work', to: 'copies', recursive: true })).rejects.toEqual(
      full(),
    )
    // What takes its place takes its room.
    await ws.files.write('work/large', bytes(1000 * KB))
    await ws.files.write('work/large', bytes(700 * KB))
    await ws.files.write('work/more', bytes(200 * KB))
    await ws.files.remove('work/more')
    await ws.files.append('work/large', bytes(200 * KB))
    expect(await ws.files.read('work/large')).toHaveLength(900 * KB)
    await aw.destroy('a')
    await aw.undelete('a')
    expect(await aw.show('a')).toMatchObject({ state: 'ready', size_limit: { mb: 1 } })
  })

  it('what a workspace began as does not count, whatever its size', async () => {
    const { aw, folder } = await open()
    const source = folder({ large: { kind: 'file', content: 'y'.repeat(3000 * KB) } })
    const ws = await aw.create({ id: 'a', from: { folder: source }, config: { max_size_mb: 1 } })
    await ws.files.write('work/own', bytes(800 * KB))
    await expect(ws.files.write('work/more', bytes(300 * KB))).rejects.toEqual(full())
    const { workspaces } = await aw.usage({ ids: ['a'] })
    expect(workspaces).toMatchObject([{ name: 'a/main', over: false, size_limit: { mb: 1 } }])
    expect(workspaces[0]?.bytes).toBeGreaterThanOrEqual(3800 * KB)
    expect(workspaces[0]?.growth_bytes).toBeGreaterThanOrEqual(800 * KB)
    expect(workspaces[0]?.growth_bytes).toBeLessThan(1024 * KB)

    await forkOf(aw, 'a', { to: ['b'] })
    await aw.manager.call('fs write', { id: 'b', path: 'work/b', content: bytes(900 * KB) })
    const more = { id: 'b', path: 'work/more', content: bytes(300 * KB) }
    await expect(aw.manager.call('fs write', more)).rejects.toEqual(full())
    await aw.reset('a')
    await aw.manager.call('fs write', { ...more, id: 'a', content: bytes(1000 * KB) })
  })

  it('0 is no limit', async () => {
    const { aw } = await open()
    const ws = await aw.create({ id: 'a', config: { max_size_mb: 0 } })
    await ws.files.write('work/large', bytes(2000 * KB))
    expect(await aw.show('a')).toMatchObject({ size_limit: { mb: 0, grade: 'none' } })
  })

  it('changes the limit of one that is there', async () => {
    const { aw, manager } = await open()
    await aw.create({ id: 'a', config: { max_size_mb: 5 } })
    expect(await manager.call('limit', { id: 'a' })).toMatchObject({ size_limit: { mb: 5 } })
    const changed = await manager.call('limit', { id: 'a', size: '7' })
    expect(changed).toMatchObject({ size_limit: { mb: 7 }, config: { max_size_mb: 7 } })
    expect(await aw.show('a')).toMatchObject({ size_limit: changed.size_limit })
    await manager.call('limit', { id: 'a', size: 'none' })
    expect(await aw.show('a')).toMatchObject({ size_limit: { mb: 0, grade: 'none' } })
    await expect(manager.call('limit', { id: 'a', size: 'much' })).rejects.toEqual(code('invalid_input'))
  })

  it('takes no file larger than sandbox.file_size_mb, and leaves what was there', async () => {
    const { aw, manager, folder } = await open({ 'sandbox.file_size_mb': '1' })
    const { files } = await aw.create({ id: 'a' })
    await files.write('work/file', bytes(1024 * KB))
    const large = bytes(1024 * KB + 1)
    async function* unannounced(): AsyncGenerator<Uint8Array> {
      for (let pieces = 0; pieces < 100; pieces++) yield bytes(256 * KB)
    }
    const tooLarge = code('file_too_large', { max_bytes: 1024 * KB })
    await expect(files.write('work/file', large)).rejects.toEqual(tooLarge)
    await expect(files.append('work/file', 'x')).rejects.toEqual(tooLarge)
    await expect(files.upload('work/file', large, { size: large.length })).rejects.toEqual(tooLarge)
    await expect(files.upload('work/file', unannounced())).rejects.toEqual(tooLarge)
    expect(await files.stat('work/file')).toMatchObject({ size: 1024 * KB })
    expect((await files.list('work')).entries.map(({ path }) => path)).toEqual(['work/file'])
    await files.write('work/other', bytes(KB))
    await files.append('work/other', bytes(KB))

    const source = folder({
      small: { kind: 'file', content: 'small' },
      deep: { kind: 'directory' },
      'deep/large': { kind: 'file', content: 'x'.repeat(1024 * KB + 1) },
    })
    const copy = (from: string, to: string): Promise<string> =>
      manager.call('cp', { from: `${source}${from}`, to, replace: true }).then(
        () => 'copied',
        (error: unknown) => toAwError(error).code,
      )
    const copies = [await copy('', 'a:work/copy'), await copy('/deep/large', 'a:work/file')]
    expect((await files.list('work')).entries.map(({ path }) => path)).toEqual(['work/file', 'work/other'])
    expect(await files.stat('work/file')).toMatchObject({ size: 1024 * KB })
    copies.push(await copy('/small', 'a:work/small'))
    // Not where there is no machine to copy from.
    expect([
      ['file_too_large', 'file_too_large', 'copied'],
      ['unsupported', 'unsupported', 'unsupported'],
    ]).toContainEqual(copies)
  })

  it('starts nothing in a workspace that is over its size limit', async () => {
    const { aw, manager } = await open()
    const ws = await aw.create({ id: 'a', config: { max_size_mb: 0 } })
    await ws.files.write('work/large', bytes(2000 * KB))
    const { size_limit: limit } = await manager.call('limit', { id: 'a', size: '1' })
    if (limit?.grade === 'kernel') return
    const echo = { id: 'a', argv: ['echo', 'here'] }
    await expect(collect(manager.stream('exec', echo))).rejects.toEqual(full())
    await expect(collect(manager.stream('run', { ...echo, snapshot: 'off' }))).rejects.toEqual(full())
    await expect(aw.start('a')).rejects.toMatchObject({
      code: 'quota_exceeded',
      hint: 'Raise it with: aw limit a/main MB; or remove files with: aw fs remove a/main PATH',
    })
    await ws.files.remove('work/large')
    expect(await collect(manager.stream('exec', echo))).toContainEqual(
      expect.objectContaining({ type: 'exit', code: 0 }),
    )
  })

  it('tells what takes up how much, the largest first', async () => {
    const { aw } = await open()
    for (const [id, size] of Object.entries({ small: 1, large: 300, gone: 200 })) {
      const ws = await aw.create({ id })
      await ws.files.write('work/file', bytes(size * KB))
    }
    await aw.snapshot('small')
    await aw.destroy('gone')
    const report = await aw.usage({})
    expect(report.workspaces.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'large/main ready',
      'gone/main trashed',
      'small/main ready',
    ])
    expect(report).toMatchObject({
      bases: [],
      repositories: [],
      limits: [],
      totals: { trash: { complete: true }, workspaces: { complete: true } },
    })
    expect(report.workspaces[1]).toMatchObject({ bytes: 0, trash: { count: 1, complete: true } })
    expect(report.workspaces[2]).toMatchObject({ snapshots: { count: 1 }, over: false })
    const each = report.workspaces.flatMap(({ trash, snapshots }) => [...trash.trees, ...snapshots.all])
    expect(each).toHaveLength(2)
    for (const { bytes: size, own_bytes: own, shared_bytes: shared } of each)
      if (own !== null) expect(own + (shared ?? 0)).toBe(Math.max(own, size ?? 0))
    expect(report.totals.workspaces.bytes).toBeGreaterThanOrEqual(301 * KB)
    expect(report.totals.trash.bytes).toBeGreaterThanOrEqual(200 * KB)
    expect(report.storage.free_bytes).toBeGreaterThan(0)
    expect((await aw.usage({ ids: ['small', 'small/main'], full: true })).workspaces).toHaveLength(2)
    await expect(aw.usage({ ids: ['nobody'] })).rejects.toEqual(code('workspace_not_found'))
  })

  it('counts shared areas, and those in the trash', async () => {
    const { aw } = await open()
    const ws = await aw.create({ id: 'a' })
    await ws.files.write('work/file', bytes(KB))
    await aw.shared.create({ name: 'cache' })
    await aw.shared.create({ name: 'former' })
    await aw.shared.remove({ name: 'former' })
    const { shared, totals } = await aw.usage({})
    const [live, former] = ['cache', 'former'].map((area) => shared.find(({ name }) => name === area))
    expect(shared).toHaveLength(2)
    expect([live, former]).toMatchObject([
      { state: 'ready', complete: true },
      { state: 'trashed', complete: true },
    ])
    expect(totals.shared).toEqual({ bytes: live?.bytes, complete: true })
    expect(totals.trash).toEqual({ bytes: former?.bytes, complete: true })
    expect((await aw.usage({ ids: ['a'] })).shared).toEqual([])
  })
}
