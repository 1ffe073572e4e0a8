import { describe, expect, it } from 'vitest'
import { makeAw } from '../../client/facade.ts'
import type { Manager } from '../../ports/manager.ts'
import { collect } from '../../../test/support/collect.ts'
import { memoryCore } from '../../../test/memory/core.ts'
import { makeMemoryTree } from '../../../test/memory/tree.ts'

const MB = 2 ** 20
const full = expect.objectContaining({ code: 'quota_exceeded' }) as Error

async function setUp(set: Record<string, string> = {}) {
  const measured = { times: 0 }
  let at = Date.UTC(2026, 0, 1)
  const wait = { ms: 1 }
  const core = memoryCore({
    set,
    now: () => new Date((at += 1)),
    onMeasure: async () => {
      measured.times += 1
      at += wait.ms
    },
  })
  const aw = makeAw(core.manager)
  const { id, files: fs } = await aw.create({ id: 'a', config: { max_size_mb: 1 } })
  /** As an agent does, past aw. */
  const put = (name: string, bytes: number): void =>
    makeMemoryTree(core.disk, `/storage/volumes/${id}`, { [name]: { kind: 'file', content: 'x'.repeat(bytes) } })
  return { ...core, aw, fs, put, measured, wait, later: (ms: number) => (at += ms) }
}

const doctorWarnings = async (manager: Manager): Promise<string[]> =>
  (await manager.call('doctor', {})).findings
    .filter(({ name, status }) => name === 'size limits' && status === 'warning')
    .map(({ message }) => message)

describe('a workspace that aw watches', () => {
  it('is not kept or forked as long as what others wrote is too much', async () => {
    const { aw, fs, put, manager } = await setUp()
    await aw.snapshot('a')
    put('large', 2 * MB)
    await expect(aw.snapshot('a')).rejects.toEqual(full)
    await expect(manager.call('fork', { id: 'a', to: ['b'] })).rejects.toEqual(full)
    await expect(fs.write('more', 'x')).rejects.toEqual(full)
    expect(await aw.usage({})).toMatchObject({ warnings: ['a/main is over its 1 MB'], workspaces: [{ over: true }] })
    // The way back leads past no limit.
    await manager.call('fork', { id: 'a', to: ['b'], at: 'head' })
    await aw.restore('a', { snapshot: 'head' })
    await aw.undo('a')
    await expect(aw.snapshot('a')).rejects.toEqual(full)
    await fs.write('large', 'small')
    await aw.snapshot('a')
  })

  it('takes no more of an upload than there is room for, and keeps nothing of one that is too large', async () => {
    const { fs, put, measured } = await setUp()
    const taken = { pieces: 0 }
    async function* content(pieces: number): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < pieces; i++) {
        taken.pieces += 1
        yield Buffer.alloc(MB / 16)
      }
    }
    put('old', (15 * MB) / 32)
    await expect(fs.upload('a', content(1000))).rejects.toEqual(full)
    // A little more than half of it is free, so eight pieces.
    expect(taken.pieces).toBe(9)
    taken.pieces = 0
    await expect(fs.upload('a', content(9), { size: (9 * MB) / 16 })).rejects.toEqual(full)
    expect(taken.pieces).toBe(0)
    await expect(fs.stat('a')).rejects.toEqual(expect.objectContaining({ code: 'file_not_found' }))
    const before = measured.times
    await fs.upload('a', content(7))
    expect(measured.times - before).toBeLessThanOrEqual(2)
    // What it replaces makes room.
    await fs.upload('a', content(8))
    async function* meanwhile(): AsyncGenerator<Uint8Array> {
      put('other', MB / 4)
      yield* content(1)
    }
    await expect(fs.upload('b', meanwhile())).rejects.toEqual(full)
    await fs.upload('old', content(2))
    await fs.upload('b', content(1))
  })

  it('may grow when it is let, and is held to less again', async () => {
    const { aw, fs, put, manager } = await setUp({ 'space.budget_mb': '10' })
    put('large', 2 * MB)
    const hint = expect.objectContaining({
      code: 'quota_exceeded',
      hint: expect.stringContaining('aw limit a/main MB') as string,
    }) as Error
    await expect(aw.snapshot('a')).rejects.toEqual(hint)
    expect(await manager.call('limit', { id: 'a' })).toMatchObject({ size_limit: { mb: 1, grade: 'watched' } })
    expect(await doctorWarnings(manager)).toEqual([
      'a/main is over its size limit of 1 MB, so commands in it are refused: it has grown by 2 MiB',
    ])
    expect(await manager.call('limit', { id: 'a', size: '3' })).toMatchObject({ config: { max_size_mb: 3 } })
    expect(await doctorWarnings(manager)).toEqual([])
    await manager.call('limit', { id: 'a', size: '3' })
    const events = await collect(manager.stream('events', { type: ['workspace_limit_set'] }))
    expect(events).toMatchObject([{ data: { task_id: 'a', max_size_mb: 3 } }])
    await aw.snapshot('a')
    const tooMuch = expect.objectContaining({ code: 'limit_reached' }) as Error
    await expect(manager.call('limit', { id: 'a', size: '11' })).rejects.toEqual(tooMuch)
    await expect(manager.call('limit', { id: 'a', size: 'none' })).rejects.toEqual(tooMuch)
    for (const size of ['', '-1', '1.5', '2GB', 'all']) {
      const invalid = expect.objectContaining({ code: 'invalid_input' }) as Error
      await expect(manager.call('limit', { id: 'a', size })).rejects.toEqual(invalid)
    }
    await manager.call('limit', { id: 'a', size: '1' })
    await expect(fs.write('more', 'x')).rejects.toEqual(full)
  })

  it('has no limit if that is said', async () => {
    const { aw, put, manager } = await setUp()
    put('large', 2 * MB)
    expect(await manager.call('limit', { id: 'a', size: 'none' })).toMatchObject({
      config: { max_size_mb: 0 },
      size_limit: { mb: 0, grade: 'none' },
    })
    await aw.snapshot('a')
    await aw.destroy('a')
    const { id } = (await manager.call('list', { trashed: true }))[0] ?? { id: '' }
    await expect(manager.call('limit', { id, size: '5' })).rejects.toMatchObject({ code: 'invalid_state' })
  })

  it('is not measured for each small write, and is when it could matter', async () => {
    const { fs, put, measured, wait } = await setUp()
    wait.ms = 400
    for (let i = 0; i < 50; i++) await fs.write(`small-${i}`, 'x')
    expect(measured.times).toBe(1)
    await fs.write('large', Buffer.alloc(0.6 * MB))
    expect(measured.times).toBe(1)
    await expect(fs.write('larger', Buffer.alloc(0.6 * MB))).rejects.toEqual(full)
    expect(measured.times).toBe(2)
    put('large', 0)
    await fs.write('larger', Buffer.alloc(0.6 * MB))
    expect(measured.times).toBe(3)
  })

  it('is measured again after a while that is long beside what measuring takes', async () => {
    const { fs, put, measured, wait, later, aw } = await setUp()
    wait.ms = 400
    await fs.write('one', 'x')
    put('large', 2 * MB)
    later(20_000)
    await fs.write('two', 'x')
    expect(measured.times).toBe(1)
    later(40_000)
    await expect(fs.write('three', 'x')).rejects.toEqual(full)
    wait.ms = 0
    put('large', 0)
    await aw.snapshot('a')
    put('large', 2 * MB)
    // What takes no time is always measured.
    await expect(aw.snapshot('a')).rejects.toEqual(full)
  })

  it('is measured anew after its tree was replaced', async () => {
    const { fs, aw } = await setUp()
    await fs.write('large', Buffer.alloc(0.9 * MB))
    await aw.reset('a')
    expect(await fs.write('large', Buffer.alloc(0.9 * MB))).toMatchObject({ path: 'large' })
  })

  it('is not measured for a snapshot right after a restore where that takes long, and is for what is written', async () => {
    const { fs, aw, measured, wait, later, put } = await setUp()
    wait.ms = 400
    await aw.snapshot('a')
    const before = measured.times
    await aw.restore('a', { snapshot: 'head' })
    await aw.snapshot('a')
    expect(measured.times).toBe(before)
    put('large', 2 * MB)
    await expect(fs.write('more', 'x')).rejects.toEqual(full)
    await aw.restore('a', { snapshot: 'head' })
    put('large', 2 * MB)
    later(60_000)
    await expect(aw.snapshot('a')).rejects.toEqual(full)
  })
})

describe('limits on all together', () => {
  it('are told by usage and doctor, with what is reserved', async () => {
    const set = { 'space.budget_mb': '10', 'space.per_label': 'team=web:5' }
    const { aw } = await setUp(set)
    await aw.create({ id: 'b', labels: { team: 'web' }, config: { max_size_mb: 5 } })
    const limits = [
      { what: 'store', of: null, limit_mb: 10, reserved_mb: 6, workspaces: 2, unlimited: 0 },
      { what: 'label', of: 'team=web', limit_mb: 5, reserved_mb: 5, workspaces: 1, unlimited: 0 },
    ]
    expect(await aw.usage({})).toMatchObject({
      limits,
      warnings: ['5 of 5 MB for label team=web are reserved'],
    })
    const { findings } = await aw.doctor({})
    expect(findings).toContainEqual(
      expect.objectContaining({
        name: 'space',
        status: 'warning',
        message: '5 of 5 MB for label team=web are reserved',
      }),
    )
    await expect(aw.create({ id: 'c', config: { max_size_mb: 5 } })).rejects.toEqual(
      expect.objectContaining({ code: 'limit_reached' }),
    )
    await aw.destroy('b')
    await aw.create({ id: 'c', config: { max_size_mb: 9 } })
    await expect(aw.undelete('b')).rejects.toEqual(expect.objectContaining({ code: 'limit_reached' }))
    await aw.destroy('c')
    await aw.undelete('b')
  })

  it('hold for forks, which count to the repository of their origin', async () => {
    const { manager, store } = await setUp({ 'space.budget_mb': '3' })
    const made = await manager.call('fork', { id: 'a', to: ['b', 'c', 'd'] })
    expect(made.forks.map(({ ok, error }) => error?.code ?? ok)).toEqual([true, true, 'limit_reached'])
    expect(await store.list()).toHaveLength(3)
  })
})
