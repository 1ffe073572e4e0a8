import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import { collect } from '../../support/collect.ts'
import { code } from '../../contracts/storage.ts'
import { isRoot, openBtrfs, snap, volume } from './fixture.ts'

const btrfs = (...args: string[]): void => void execFileSync('btrfs', ['-q', ...args])

/** Subvolumes in subvolumes, some of them read-only, one behind a directory that may not be read. */
function nest(tree: string): void {
  fs.mkdirSync(join(tree, 'd/e'), { recursive: true })
  btrfs('subvolume', 'create', join(tree, 'd/e/one'))
  fs.writeFileSync(join(tree, 'd/e/one/file'), 'x')
  btrfs('subvolume', 'create', join(tree, 'd/e/one/two'))
  fs.writeFileSync(join(tree, 'd/e/one/two/file'), 'y')
  btrfs('subvolume', 'snapshot', '-r', join(tree, 'd/e/one'), join(tree, 'frozen'))
  btrfs('subvolume', 'snapshot', '-r', join(tree, 'd/e/one/two'), join(tree, 'd/e/one/two/frozen'))
  fs.chmodSync(join(tree, 'd/e'), 0o500)
}

it('erases a tree with subvolumes that were made in it', async () => {
  const { storage, path } = openBtrfs()
  await storage.create(volume)
  nest(path(volume))
  await storage.erase(volume)
  await storage.erase(volume)
  expect(await storage.list()).toEqual([])
  expect(fs.existsSync(path(volume))).toBe(false)
})

it('erases a frozen tree, and one whose owner may not write to it', async () => {
  const { storage, path } = openBtrfs()
  await storage.create(volume)
  fs.mkdirSync(join(path(volume), 'shut'))
  fs.writeFileSync(join(path(volume), 'shut/file'), '')
  fs.chmodSync(join(path(volume), 'shut'), 0o500)
  fs.chmodSync(path(volume), 0o500)
  await storage.snapshot(volume, snap(1))
  await storage.move(volume, { area: 'trash', name: 'ws_1.1' })
  await storage.erase(snap(1))
  await storage.erase({ area: 'trash', name: 'ws_1.1' })
  expect(await storage.list()).toEqual([])
})

it('of a tree whose owner may not read it says so, and root freezes it as it is', async () => {
  const { storage, path } = openBtrfs()
  await storage.create(volume)
  fs.chmodSync(path(volume), 0o300)
  const frozen = storage.snapshot(volume, snap(1))
  if (isRoot) expect(await frozen).toMatchObject({ consistency: 'atomic' })
  else await expect(frozen).rejects.toEqual(code('permission_denied'))
  expect(await storage.exists(snap(1))).toBe(isRoot)
  expect(fs.statSync(path(volume)).mode & 0o777).toBe(0o300)
  await storage.erase(volume)
  expect(await storage.exists(volume)).toBe(false)
})

it('does not restore over a subvolume that no snapshot holds', async () => {
  const { storage, path } = openBtrfs()
  await storage.create(volume)
  await storage.snapshot(volume, snap(1))
  fs.mkdirSync(join(path(volume), 'd'))
  btrfs('subvolume', 'create', join(path(volume), 'd/mine'))
  fs.writeFileSync(join(path(volume), 'd/mine/file'), 'precious')
  const refused = storage.restore(volume, snap(1), snap(2))
  await expect(refused).rejects.toEqual(code('unsupported'))
  await expect(refused).rejects.toThrow('d/mine')
  expect(fs.readFileSync(join(path(volume), 'd/mine/file'), 'utf8')).toBe('precious')
  expect(await storage.list()).toEqual([volume, snap(1)])
  expect(storage.capabilities.unfaithful).toMatchObject([{ what: expect.stringContaining('subvolumes') as unknown }])
})

it('a snapshot says what it could not hold, and is not made where all of it was asked for', async () => {
  const { storage, path } = openBtrfs()
  await storage.create(volume)
  expect(await storage.snapshot(volume, snap(1), { whole: ['d'] })).not.toHaveProperty('left_out')
  fs.mkdirSync(join(path(volume), 'd/e'), { recursive: true })
  btrfs('subvolume', 'create', join(path(volume), 'd/e/mine'))
  btrfs('subvolume', 'create', join(path(volume), 'größe'))
  for (const whole of [['d'], ['d/e'], ['x', 'd/e/mine'], ['d/e/mine/below'], ['.']])
    await expect(storage.snapshot(volume, snap(2), { whole })).rejects.toEqual(code('unsupported'))
  expect(await storage.exists(snap(2))).toBe(false)
  expect(await storage.snapshot(volume, snap(2), { whole: ['d/f', 'd/e/min'] })).toMatchObject({
    left_out: ['d/e/mine', Buffer.from('größe').toString('latin1')],
  })
})

it('paths at, above and below a subvolume are not restored, others are', async () => {
  const home = fs.mkdtempSync(join(tmpdir(), 'aw-home-'))
  await using manager = await openManager({ home, env: { AW_STORAGE_DRIVER: 'btrfs' } })
  const { path: tree } = await manager.call('create', { id: 'a' })
  await manager.call('fs write', { id: 'a', path: 'work/d/file', content: 'one' })
  await manager.call('fs write', { id: 'a', path: 'work/other', content: 'one' })
  expect((await manager.call('snapshot', { id: 'a', label: 'one' })).meta).toEqual({})
  await manager.call('fs write', { id: 'a', path: 'work/other', content: 'two' })
  btrfs('subvolume', 'create', join(tree, 'work/d/mine'))
  fs.writeFileSync(join(tree, 'work/d/mine/file'), 'precious')
  for (const path of ['work', 'work/d', 'work/d/mine', 'work/d/mine/file'])
    await expect(manager.call('restore', { id: 'a', snapshot: 'one', paths: [path] })).rejects.toEqual(
      code('unsupported'),
    )
  expect(await manager.call('snapshots', { id: 'a' })).toHaveLength(1)
  await manager.call('restore', { id: 'a', snapshot: 'one', paths: ['work/other'] })
  expect(fs.readFileSync(join(tree, 'work/other'), 'utf8')).toBe('one')
  expect(fs.readFileSync(join(tree, 'work/d/mine/file'), 'utf8')).toBe('precious')
  expect((await manager.call('snapshot', { id: 'a' })).meta).toEqual({ left_out: ['work/d/mine'] })
})

/** A workspace `a` with something precious where no snapshot reaches. */
async function withSubvolume() {
  const home = fs.mkdtempSync(join(tmpdir(), 'aw-home-'))
  const env = { AW_STORAGE_DRIVER: 'btrfs', AW_ARCHIVE_BEFORE_EXPIRY: 'true' }
  const manager = await openManager({ home, env })
  const { path: tree } = await manager.call('create', { id: 'a' })
  await manager.call('fs write', { id: 'a', path: 'work/file', content: 'one' })
  const makePrecious = (): void => {
    btrfs('subvolume', 'create', join(tree, 'work/sv'))
    fs.writeFileSync(join(tree, 'work/sv/file'), 'precious')
  }
  return { home, manager, tree, makePrecious, [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose]() }
}

const left_out = ['work/sv']

it('what begins as a workspace tells what no snapshot of it holds', async () => {
  await using made = await withSubvolume()
  const { manager, makePrecious } = made
  expect(await manager.call('fork', { id: 'a', to: ['whole'] })).not.toHaveProperty('left_out')
  makePrecious()
  const forked = await manager.call('fork', { id: 'a', to: ['b'] })
  expect(forked).toMatchObject({ left_out, forks: [{ workspace: { source: { left_out } } }] })
  const again = await manager.call('fork', { id: 'a', count: 2 })
  expect(again).toMatchObject({ left_out })
  // To others than root a subvolume differs from the directory that a snapshot has in its place.
  if (isRoot) expect(again.snapshot).toBe(forked.snapshot)
  expect(await manager.call('fork', { id: 'a', to: ['c'], at: 'head' })).toMatchObject({ left_out })
  expect(await manager.call('create', { id: 'd', from_workspace: 'a' })).toMatchObject({ source: { left_out } })
  expect((await manager.call('show', { id: 'd' })).source).toMatchObject({ left_out })
  expect(await manager.call('fork', { id: 'b', to: ['e'], at: 'base' })).toMatchObject({ left_out })
  expect(await manager.call('fork', { id: 'b', to: ['f'] })).not.toHaveProperty('left_out')
  const run = { from_workspace: 'a', count: 2, argv: ['true'], isolation: 'none', snapshot: 'off' } as const
  const started = (await collect(manager.stream('run', run))).filter(({ type }) => type === 'started')
  expect(started).toMatchObject(
    [0, 1].map(() => ({ notes: expect.arrayContaining([expect.stringContaining('of a/main: work/sv')]) as string[] })),
  )
  const template = await manager.call('template create', { name: 't', from_workspace: 'a' })
  expect(template.source).toMatchObject({ left_out })
  expect((await manager.call('template create', { name: 'u', from_workspace: 'whole' })).source).not.toHaveProperty(
    'left_out',
  )
})

it('tells it too where the head was taken before, and shows no difference', async () => {
  await using made = await withSubvolume()
  const { manager, tree, makePrecious } = made
  fs.mkdirSync(join(tree, 'work/sv'))
  const { id: head } = await manager.call('snapshot', { id: 'a' })
  fs.rmdirSync(join(tree, 'work/sv'))
  makePrecious()
  const forked = await manager.call('fork', { id: 'a', to: ['b'] })
  expect(forked).toMatchObject({ left_out })
  if (isRoot) expect(forked.snapshot).toBe(head)
  expect(await manager.call('fork', { id: 'a', to: ['c'], at: head })).not.toHaveProperty('left_out')
})

it('an export tells what no snapshot of the workspace holds', async () => {
  await using made = await withSubvolume()
  const { manager, tree, makePrecious } = made
  makePrecious()
  btrfs('subvolume', 'create', join(tree, 'beside'))
  const outside = fs.mkdtempSync(join(tmpdir(), 'aw-out-'))
  const repo = join(outside, 'repo')
  execFileSync('git', ['init', '-q', repo])
  const reason = 'btrfs subvolume'
  const inContent = { left_out: [{ path: 'sv', reason }] }
  for (const of of ['a', 'a@head']) {
    const file = join(outside, `${of}.aw.tar.zst`)
    expect(await manager.call('export', { of, file })).toMatchObject({
      left_out: [
        { path: 'beside', reason },
        { path: 'work/sv', reason },
      ],
    })
    expect(await manager.call('export', { of, patch: true })).toMatchObject(inContent)
    expect(await manager.call('export', { of, bundle: join(outside, `${of}.bundle`) })).toMatchObject(inContent)
    expect(await manager.call('export', { of, branch: of.replace('@', '-'), repo })).toMatchObject(inContent)
  }
})

it('packs what is in subvolumes before it erases a tree whose time is over', async () => {
  await using made = await withSubvolume()
  const { home, manager, makePrecious } = made
  makePrecious()
  await manager.call('ttl', { id: 'a', duration: '1s' })
  await sleep(1100)
  expect((await manager.call('gc', {})).items).toMatchObject([{ action: 'trash' }])
  const { items } = await manager.call('gc', { older_than: '0s' })
  expect(items).toMatchObject([{ kind: 'tree', error: null, archive: expect.stringContaining(home) as string }])
  await manager.call('import', { file: items[0]?.archive ?? '', id: 'b' })
  expect(String(await manager.call('fs read', { id: 'b', path: 'work/sv/file' }))).toBe('precious')
})

it('does not erase a tree whose subvolumes cannot be packed', async () => {
  await using made = await withSubvolume()
  const { manager, tree, makePrecious } = made
  makePrecious()
  fs.chmodSync(join(tree, 'work/sv/file'), 0)
  btrfs('property', 'set', join(tree, 'work/sv'), 'ro', 'true')
  const { id } = await manager.call('ttl', { id: 'a', duration: '1s' })
  await sleep(1100)
  await manager.call('gc', {})
  const { items } = await manager.call('gc', { older_than: '0s' })
  if (isRoot) return expect(items).toMatchObject([{ kind: 'tree', error: null, archive: expect.any(String) as string }])
  expect(items).toMatchObject([{ kind: 'tree', error: expect.any(String) as string, archive: null }])
  expect(await manager.call('show', { id })).toMatchObject({ state: 'trashed', operation: null })
})

it('shows a subvolume as an empty directory in a difference', async () => {
  const { storage, path } = openBtrfs()
  await storage.create(volume)
  await storage.snapshot(volume, snap(1))
  btrfs('subvolume', 'create', join(path(volume), 'mine'))
  fs.writeFileSync(join(path(volume), 'mine/file'), '')
  await storage.snapshot(volume, snap(2))
  expect(await collect(storage.diff(snap(1), snap(2)))).toMatchObject([{ path: 'mine', change: 'added' }])
})

it('is taken for what it is', async () => {
  const { storage } = openBtrfs()
  const probe = await storage.probe()
  expect(probe).toMatchObject({ usable: true })
  expect(JSON.stringify(probe)).toContain(isRoot ? 'a tree is erased at once' : 'user_subvol_rm_allowed')
  expect(await storage.list()).toEqual([])
})
