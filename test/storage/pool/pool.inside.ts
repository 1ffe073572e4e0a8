import { execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import type { Manager } from '../../../src/ports/manager.ts'
import { standing } from '../../support/background-process.ts'
import { containing, deinit, ordinary, poolPlace, small, type PoolPlace } from './fixture.ts'

const open = ({ home }: PoolPlace): Promise<Manager> => openManager({ home, env: {} })

async function withWorkspace(place: PoolPlace, id: string, text: string): Promise<void> {
  await using manager = await open(place)
  const { driver } = await manager.call('create', { id })
  expect(driver).toBe('btrfs')
  await manager.call('fs write', { id, path: 'work/a', content: Buffer.from(text) })
}

async function textOf(place: PoolPlace, id: string): Promise<string> {
  await using manager = await open(place)
  return Buffer.from((await manager.call('fs read', { id, path: 'work/a' })) as Uint8Array).toString()
}

const erase = async (place: PoolPlace, id: string): Promise<void> => {
  await using manager = await open(place)
  await manager.call('destroy', { id, purge: true })
}

const nothingLeft = ({ home, root, loops, isMounted }: PoolPlace): void => {
  expect({ loops: loops(), mounted: isMounted() }).toEqual({ loops: [], mounted: false })
  const found = fs.readdirSync(home).filter((name) => /pool|storage\.id/.test(name))
  expect(found).toEqual([])
  expect(fs.existsSync(root) ? fs.readdirSync(root) : []).toEqual([])
}

test('a pool is made, holds workspaces, and is there again after a reboot', async () => {
  const place = poolPlace()
  const made = await place.init({ storage: 'btrfs', size: small })
  expect(made).toEqual({
    home: place.home,
    storage_root: place.root,
    driver: 'btrfs',
    changed: true,
    pool: { image: place.image, bytes: 256 * 2 ** 20 },
    check: null,
  })
  const mount =
    fs
      .readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .find((line) => line.includes(place.root)) ?? ''
  for (const option of ['nosuid', 'nodev', 'noatime', 'discard=async', 'user_subvol_rm_allowed'])
    expect(mount.split(/[ ,]/)).toContain(option)
  const [device = ''] = place.loops()
  expect(fs.readFileSync(`/sys/block/${device.slice(5)}/loop/dio`, 'utf8').trim()).toBe('1')
  expect(fs.statSync(place.image)).toMatchObject({ mode: 0o100600, uid: 0 })
  expect(fs.statSync(place.root).mode & 0o777).toBe(0o700)

  await withWorkspace(place, 'one', 'kept')
  expect(await place.init({ storage: 'btrfs' })).toMatchObject({ changed: false })
  place.reboot()
  expect(place.loops()).toEqual([])
  expect(fs.statSync(place.root).mode & 0o777).toBe(0o500)
  expect(await textOf(place, 'one')).toBe('kept')
  expect({ loops: place.loops().length, mounted: place.isMounted() }).toEqual({ loops: 1, mounted: true })
})

test('a device goes with the last mount, and one that is still used elsewhere is used again', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  await withWorkspace(place, 'one', 'kept')
  const before = place.loops()
  expect(before).toHaveLength(1)
  const elsewhere = await standing(['unshare', '--mount', 'sh', '-c', 'echo there; exec sleep 600'])
  execFileSync('umount', [place.root])
  expect(place.loops()).toEqual(before)
  expect(await textOf(place, 'one')).toBe('kept')
  expect({ loops: place.loops(), mounted: place.isMounted() }).toEqual({ loops: before, mounted: true })
  await elsewhere[Symbol.asyncDispose]()
  execFileSync('umount', [place.root])
  await expect.poll(place.loops, { timeout: 20_000 }).toEqual([])
  expect(await textOf(place, 'one')).toBe('kept')
  expect({ loops: place.loops().length, mounted: place.isMounted() }).toEqual({ loops: 1, mounted: true })
})

test('an image that is deleted under its mount is given back when that ends', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  fs.rmSync(place.image)
  expect(place.loops()).toHaveLength(1)
  execFileSync('umount', [place.root])
  await expect.poll(place.loops, { timeout: 20_000 }).toEqual([])
})

test('several processes that open a home after a reboot mount it once', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  await withWorkspace(place, 'one', 'kept')
  place.reboot()
  const all = await Promise.all(Array.from({ length: 4 }, () => place.start('call', 'show', '{"id":"one"}')))
  for (const { answer } of all) expect(answer).toMatchObject({ result: { state: 'ready', driver: 'btrfs' } })
  expect(place.loops()).toHaveLength(1)
  const lines = fs.readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  expect(lines.filter((line) => line.includes(place.root))).toHaveLength(1)
})

test('a pool grows while it is used, and never shrinks', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  await withWorkspace(place, 'one', 'kept')
  const size = (): number => fs.statfsSync(place.root).blocks * fs.statfsSync(place.root).bsize
  const before = size()
  expect(await place.init({ storage: 'btrfs', size: '400M' })).toMatchObject({
    changed: true,
    pool: { bytes: 400 * 2 ** 20 },
  })
  expect(size() - before).toBe(144 * 2 ** 20)
  await expect(place.init({ size: '300M' })).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(place.init({ size: '900G' })).rejects.toMatchObject({ code: 'disk_full' })
  place.reboot()
  expect(await textOf(place, 'one')).toBe('kept')
  expect(size() - before).toBe(144 * 2 ** 20)
})

test.each([
  ['200M', 'invalid_input'],
  ['900G', 'disk_full'],
  ['much', 'invalid_input'],
  ['0G', 'invalid_input'],
])('a size of %s is refused, and nothing is left', async (size, code) => {
  const place = poolPlace()
  await expect(place.init({ storage: 'btrfs', size })).rejects.toMatchObject({ code })
  nothingLeft(place)
})

test('by default a pool may take half of what is free', async () => {
  const place = poolPlace()
  const { bavail, bsize } = fs.statfsSync(place.home)
  const { pool } = await place.init({ storage: 'btrfs' })
  expect((pool?.bytes ?? 0) / (bavail * bsize)).toBeGreaterThan(0.3)
  expect((pool?.bytes ?? 0) / (bavail * bsize)).toBeLessThanOrEqual(0.5)
})

test('a check reads everything, and tells what is damaged', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  const text = 'a text that is easy to find '.repeat(4000)
  await withWorkspace(place, 'one', text)
  expect((await place.init({ check: true })).check).toMatchObject({ ok: true, errors: 0 })
  place.reboot()
  const bytes = fs.readFileSync(place.image)
  const at = bytes.indexOf('a text that is easy to find')
  expect(at).toBeGreaterThan(0)
  const fd = fs.openSync(place.image, 'r+')
  fs.writeSync(fd, 'damaged', at)
  fs.closeSync(fd)
  const { check } = await place.init({ check: true })
  expect(check?.ok).toBe(false)
  expect(check?.errors).toBeGreaterThan(0)
  await using manager = await open(place)
  const { ok, findings } = await manager.call('doctor', {})
  expect(ok).toBe(false)
  expect(findings).toContainEqual(
    expect.objectContaining({ name: 'pool device', status: 'problem', message: containing('corruption') }),
  )
})

test('aw doctor tells how the pool is doing, and warns when the disk below it is short', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  const findings = async (): Promise<Record<string, string>> => {
    await using manager = await open(place)
    const { findings: all } = await manager.call('doctor', {})
    return Object.fromEntries(all.map(({ name, status }) => [name, status]))
  }
  expect(await findings()).toMatchObject({
    pool: 'ok',
    'pool image': 'ok',
    'pool device': 'ok',
    'driver btrfs': 'ok',
    'driver dir': 'info',
  })
  const { bavail, bsize } = fs.statfsSync(place.home)
  const filler = join(place.folder, 'filler')
  execFileSync('fallocate', ['-l', `${bavail * bsize - 100 * 2 ** 20}`, filler])
  expect(await findings()).toMatchObject({ pool: 'ok', 'pool image': 'warning' })
})

test('a base that nobody needs does not keep a pool, and goes only with it', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  const folder = join(place.folder, 'source')
  fs.mkdirSync(folder)
  fs.writeFileSync(join(folder, 'file'), 'content')
  const bases = async () => {
    await using manager = await open(place)
    return await manager.call('bases list', {})
  }
  {
    await using manager = await open(place)
    await manager.call('create', { id: 'one', from: { folder } })
  }
  await erase(place, 'one')
  expect(await bases()).toHaveLength(1)
  await expect(deinit(place, true)).rejects.toMatchObject({ code: 'invalid_input', data: { image: place.image } })
  expect(await bases()).toHaveLength(1)
  expect(await deinit(place)).toMatchObject({ pool: { image: place.image } })
  nothingLeft(place)
  expect(await bases()).toEqual([])
})

test('a pool is not removed while there is a workspace, live or in the trash', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  await withWorkspace(place, 'one', 'kept')
  await expect(deinit(place)).rejects.toMatchObject({
    code: 'invalid_state',
    message: containing('one/main'),
  })
  {
    await using manager = await open(place)
    await manager.call('destroy', { id: 'one' })
  }
  await expect(deinit(place)).rejects.toMatchObject({ message: containing('in the trash') })
  {
    await using manager = await open(place)
    await manager.call('undelete', { id: 'one' })
  }
  expect(await textOf(place, 'one')).toBe('kept')
  await erase(place, 'one')
  fs.mkdirSync(join(place.root, 'snapshots/unknown'))
  await expect(deinit(place)).rejects.toMatchObject({ data: { trees: ['snapshots/unknown'] } })
  fs.rmdirSync(join(place.root, 'snapshots/unknown'))
  await expect(deinit(place, true)).rejects.toMatchObject({ code: 'invalid_input', data: { image: place.image } })
  expect(await deinit(place)).toMatchObject({ pool: { image: place.image } })
  nothingLeft(place)
  expect(await deinit(place)).toMatchObject({ pool: null })
  await using manager = await open(place)
  expect((await manager.call('create', { id: 'two' })).driver).toBe('dir')
})

test('a pool that a process is in is not removed; afterwards it is', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  const inside = spawn('sleep', ['60'], { cwd: place.root })
  onTestFinished(() => void inside.kill('SIGKILL'))
  await expect(deinit(place)).rejects.toMatchObject({ code: 'workspace_active' })
  await expect(open(place)).rejects.toMatchObject({
    code: 'storage_unavailable',
    hint: containing('deinit'),
  })
  inside.kill('SIGKILL')
  await new Promise((resolve) => inside.once('exit', resolve))
  await deinit(place)
  nothingLeft(place)
})

test('an empty home changes its driver; one with a tree does not', async () => {
  const place = poolPlace()
  expect(await place.init({ storage: 'dir' })).toMatchObject({ driver: 'dir', changed: true, pool: null })
  expect(await place.init({ storage: 'dir' })).toMatchObject({ driver: 'dir', changed: false })
  await expect(place.init({ size: '1G' })).rejects.toMatchObject({ code: 'invalid_input' })
  expect(await place.init({ storage: 'btrfs', size: small })).toMatchObject({ driver: 'btrfs', changed: true })
  await withWorkspace(place, 'one', 'kept')
  await expect(place.init({ storage: 'dir' })).rejects.toMatchObject({ code: 'invalid_state' })
  await erase(place, 'one')
  await expect(place.init({ storage: 'dir' })).rejects.toMatchObject({
    code: 'invalid_state',
    hint: containing('deinit'),
  })
  await deinit(place)
  expect(await place.init({ storage: 'dir' })).toMatchObject({ driver: 'dir' })
  {
    await using manager = await open(place)
    await manager.call('create', { id: 'two' })
  }
  await expect(place.init({ storage: 'btrfs' })).rejects.toMatchObject({
    code: 'invalid_state',
    message: containing('volumes/'),
  })
  expect(place.loops()).toEqual([])
})

test.each([
  ['is not installed', '/dev/null', { code: 'unsupported', hint: containing('btrfs-progs') }],
  ['fails', '/bin/false', { code: 'aw_command_failed' }],
])('when mkfs.btrfs %s nothing is left', async (_, instead, error) => {
  const place = poolPlace()
  execFileSync('mount', ['--bind', instead, '/usr/sbin/mkfs.btrfs'])
  onTestFinished(() => void execFileSync('umount', ['/usr/sbin/mkfs.btrfs']))
  await expect(place.init({ storage: 'btrfs', size: small })).rejects.toMatchObject(error)
  nothingLeft(place)
})

test('what is not ours is neither mounted nor removed', async () => {
  const place = poolPlace()
  fs.writeFileSync(place.image, "somebody's file")
  await expect(place.init({ storage: 'btrfs', size: small })).rejects.toMatchObject({ code: 'file_exists' })
  expect(fs.readFileSync(place.image, 'utf8')).toBe("somebody's file")
  fs.rmSync(place.image)
  fs.writeFileSync(join(place.root, 'notes'), '')
  await expect(place.init({ storage: 'btrfs', size: small })).rejects.toMatchObject({ code: 'directory_not_empty' })
  expect(fs.readdirSync(place.root)).toEqual(['notes'])
})

test('an image that is gone, or another than root made, is told', async () => {
  const place = poolPlace()
  await place.init({ storage: 'btrfs', size: small })
  await withWorkspace(place, 'one', 'kept')
  place.reboot()
  fs.renameSync(place.image, `${place.image}.away`)
  await expect(place.init()).rejects.toMatchObject({
    code: 'storage_unavailable',
    message: containing('gone'),
  })
  {
    // The log can still be read.
    await using manager = await open(place)
    expect(await manager.call('list', {})).toHaveLength(1)
    await expect(manager.call('create', { id: 'two' })).rejects.toMatchObject({
      code: 'storage_unavailable',
      hint: containing(`aw init --storage btrfs --home ${place.home}`),
    })
  }
  fs.symlinkSync(`${place.image}.away`, place.image)
  await expect(place.init()).rejects.toMatchObject({
    code: 'storage_unavailable',
    message: containing('not the image'),
  })
  fs.unlinkSync(place.image)
  fs.renameSync(`${place.image}.away`, place.image)
  expect(await textOf(place, 'one')).toBe('kept')
})

test('root makes a pool for an ordinary user, who needs root again only after a reboot', async () => {
  const place = poolPlace(ordinary)
  expect(place.run('ordinary', 'init', '{"storage":"btrfs"}').answer.error).toMatchObject({
    code: 'permission_denied',
    hint: containing(`aw init --storage btrfs --home ${place.home}`),
  })
  await place.init({ storage: 'btrfs', size: small })
  const created = place.run('ordinary', 'call', 'create', '{"id":"one"}').answer
  expect(created).toMatchObject({ result: { driver: 'btrfs' } })
  expect(fs.statSync(join(place.root, 'volumes')).uid).toBe(ordinary)
  place.reboot()
  expect(place.run('ordinary', 'call', 'list').answer.result).toHaveLength(1)
  expect(place.run('ordinary', 'call', 'create', '{"id":"two"}').answer.error).toMatchObject({
    code: 'storage_unavailable',
    hint: `Let root mount the pool again: aw init --storage btrfs --home ${place.home}`,
  })
  expect(fs.readdirSync(place.root)).toEqual(['.aw-unmounted'])
  expect(await place.init({ storage: 'btrfs' })).toMatchObject({ changed: false })
  expect(place.run('ordinary', 'call', 'create', '{"id":"two"}').answer).toMatchObject({ result: { driver: 'btrfs' } })
  await expect(deinit(place)).rejects.toMatchObject({ code: 'invalid_state' })
  for (const id of ['one', 'two']) place.run('ordinary', 'call', 'destroy', JSON.stringify({ id, purge: true }))
  expect(place.run('ordinary', 'deinit').answer.error).toMatchObject({ code: 'permission_denied' })
  await deinit(place)
  nothingLeft(place)
})

test('in the home of another user root is not led elsewhere', async () => {
  const place = poolPlace(ordinary)
  const elsewhere = join(place.folder, 'elsewhere')
  fs.mkdirSync(elsewhere)
  const mounted = (): boolean => fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(elsewhere)
  fs.symlinkSync(elsewhere, place.root)
  await expect(place.init({ storage: 'btrfs', size: small })).rejects.toThrow('ENOTDIR')
  fs.unlinkSync(place.root)
  await expect(place.init({ storage: 'btrfs', size: small, set: { 'storage.root': elsewhere } })).rejects.toMatchObject(
    { code: 'home_owner_mismatch' },
  )
  expect({ mounted: mounted(), loops: place.loops(), left: fs.readdirSync(elsewhere) }).toEqual({
    mounted: false,
    loops: [],
    left: [],
  })
})
