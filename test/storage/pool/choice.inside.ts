import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import { deinitHome, initHome } from '../../../src/init.ts'
import { removeTree } from '../../../src/sys/safe-fs/index.ts'
import { inRoot } from '../../../tools/root.ts'
import { containing } from './fixture.ts'

/** Run on ext4 and on btrfs, by root and by an ordinary user. */
const onBtrfs = process.env['AW_ON'] === 'btrfs'
const isRoot = process.getuid?.() === 0
const best = onBtrfs ? 'btrfs' : 'dir'

let home: string
let root: string
beforeEach(() => {
  const folder = fs.mkdtempSync(join(tmpdir(), 'choice-'))
  home = join(folder, 'home')
  root = join(home, 'storage')
  onTestFinished(async () => {
    for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) await removeTree(folder, name)
    fs.rmdirSync(folder)
  })
})

const open = (driver?: string) =>
  openManager({ home, env: {}, ...(driver === undefined ? {} : { set: { 'storage.driver': driver } }) })

async function driverOf(driver?: string): Promise<string> {
  await using manager = await open(driver)
  const made = await manager.call('create', { id: 'one' })
  await manager.call('destroy', { id: made.id, purge: true })
  return made.driver
}

const lines = (file: string): string[] => fs.readFileSync(file, 'utf8').trim().split('\n')

test('a home takes the best that works, writes it down in its root, and keeps to it', async () => {
  expect(await driverOf()).toBe(best)
  expect(lines(join(root, '.aw-storage')).slice(0, 2)).toEqual([
    expect.stringMatching(/^[0-9a-f]{32}$/),
    `driver ${best}`,
  ])
  expect(await driverOf(best)).toBe(best)
  const before = fs.readFileSync(join(root, '.aw-storage'), 'utf8')
  expect(await driverOf()).toBe(best)
  expect(fs.readFileSync(join(root, '.aw-storage'), 'utf8')).toBe(before)
  expect(fs.readdirSync(home).filter((name) => name.startsWith('.aw-trial'))).toEqual([])
})

test('a driver that was asked for by name is the one that is taken', async () => {
  expect(await driverOf('dir')).toBe('dir')
  expect(await driverOf()).toBe('dir')
})

test('overlay is taken when it is asked for, by an ordinary user too, who is told what that means', async () => {
  expect(await initHome({ home, env: {}, storage: 'overlay' })).toMatchObject({ driver: 'overlay' })
  if (isRoot) return
  await using manager = await open()
  const { findings } = await manager.call('doctor', {})
  expect(findings.find(({ name }) => name === 'driver overlay')?.message).toContain('have no path')
})

test('a root is never opened by another driver than the one that made it', async () => {
  await driverOf('dir')
  await expect(open('btrfs')).rejects.toMatchObject({
    code: 'unsupported',
    message: containing('made by the driver dir, not by btrfs'),
    hint: containing('aw init --storage btrfs'),
  })
  fs.writeFileSync(
    join(root, '.aw-storage'),
    fs.readFileSync(join(root, '.aw-storage'), 'utf8').replace('dir', 'btrfs'),
  )
  await expect(open()).rejects.toMatchObject({ code: 'storage_unavailable', data: { root, driver: 'btrfs' } })
})

test('a home from before there was a choice is one of dir', async () => {
  await driverOf('dir')
  for (const file of [join(root, '.aw-storage'), join(home, 'storage.id')]) {
    const kept = lines(file).filter((line) => !line.startsWith('driver'))
    fs.writeFileSync(file, `${kept.join('\n')}\n`)
  }
  expect(await driverOf()).toBe('dir')
  await expect(open('btrfs')).rejects.toMatchObject({ code: 'unsupported' })
})

test('a driver of a newer version is told from damage', async () => {
  await driverOf()
  fs.writeFileSync(join(home, 'storage.id'), fs.readFileSync(join(home, 'storage.id'), 'utf8').replace(best, 'later'))
  await expect(open()).rejects.toMatchObject({ code: 'home_version' })
})

test('an empty home can be given another driver on purpose', async () => {
  await driverOf('dir')
  const changed = initHome({ home, env: {}, storage: 'btrfs', ...(isRoot && !onBtrfs ? { size: '900T' } : {}) })
  if (onBtrfs) {
    expect(await changed).toMatchObject({ driver: 'btrfs', changed: true, pool: null })
    expect(await driverOf()).toBe('btrfs')
    expect(await initHome({ home, env: {} })).toMatchObject({ driver: 'btrfs', changed: false })
    expect(await initHome({ home, env: {}, storage: 'dir' })).toMatchObject({ driver: 'dir', changed: true })
    expect(await driverOf()).toBe('dir')
  } else {
    const before = fs.readFileSync(join(root, '.aw-storage'), 'utf8')
    await expect(changed).rejects.toMatchObject({ code: isRoot ? 'disk_full' : 'permission_denied' })
    expect(fs.readFileSync(join(root, '.aw-storage'), 'utf8')).toBe(before)
    expect(await driverOf()).toBe('dir')
  }
})

test('a root that is not mounted is neither given up nor replaced', async () => {
  await driverOf('dir')
  fs.renameSync(root, `${root}.away`)
  fs.mkdirSync(root, { mode: 0o700 })
  const told = { code: 'storage_unavailable', message: containing('is missing or not mounted') }
  await expect(deinitHome({ home, env: {} })).rejects.toMatchObject(told)
  await expect(initHome({ home, env: {}, storage: 'overlay' })).rejects.toMatchObject(told)
  expect(fs.readdirSync(root)).toEqual([])
  fs.rmdirSync(root)
  fs.renameSync(`${root}.away`, root)
  expect(await driverOf()).toBe('dir')
})

test('the setting and what is asked for must agree', async () => {
  const asked = initHome({ home, env: {}, storage: 'btrfs', set: { 'storage.driver': 'dir' } })
  await expect(asked).rejects.toMatchObject({ code: 'invalid_config', data: { key: 'storage.driver', origin: 'flag' } })
})

test('processes that use a home for the first time at once agree', async () => {
  const managers = await Promise.all(Array.from({ length: 5 }, () => open()))
  for (const [i, manager] of managers.entries()) {
    expect((await manager.call('create', { id: `task-${i}` })).driver).toBe(best)
    await manager.call('destroy', { id: `task-${i}`, purge: true })
    await manager[Symbol.asyncDispose]()
  }
})

test('aw doctor says which drivers work, which is used, and what would be better', async () => {
  await driverOf()
  await using manager = await open()
  const { findings } = await manager.call('doctor', {})
  const about = (name: string) => findings.find((finding) => finding.name === `driver ${name}`)
  expect(about('btrfs')?.message).toContain(onBtrfs ? 'in use, works' : 'does not work here')
  expect(about('dir')?.message).toContain(onBtrfs ? 'not in use, works' : 'in use, works')
  expect(about('overlay')?.status).toBe('info')
  if (!onBtrfs) {
    expect(about('btrfs')?.message).toContain('is on ext4')
    const way = isRoot ? 'aw init --storage btrfs makes a pool' : 'Ask root for aw init --storage btrfs'
    expect(about('dir')?.hint).toContain(way)
  }
  expect(fs.readdirSync(root).filter((name) => name.startsWith('.aw-trial'))).toEqual([])
})

test('a driver by name works, or is an error with the reasons and nothing is made', async () => {
  if (onBtrfs) {
    expect(await driverOf('btrfs')).toBe('btrfs')
    return
  }
  await expect(open('btrfs')).rejects.toMatchObject({
    code: 'unsupported',
    message: `The storage driver btrfs does not work here: ${home} is on ext4, not on btrfs`,
    hint: containing('aw init --storage btrfs'),
    data: { driver: 'btrfs', reasons: [`${home} is on ext4, not on btrfs`] },
  })
  expect(fs.existsSync(root)).toBe(false)
  expect(await driverOf()).toBe(best)
})

test('after a crash at any step of the first use, the next one works', { timeout: 600_000 }, () => {
  const program = `import { openAw } from ${JSON.stringify(inRoot('dist/index.js'))}
    await using aw = await openAw({ home: ${JSON.stringify(home)}, env: {} })
    const made = await aw.create({ id: 'one' })
    await made.destroy({ purge: true })
    console.log(made.driver ?? 'made')`
  const run = (step?: number) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: step === undefined ? {} : { AW_CRASH_AT: `${step}` },
    })
  const before: string[] = []
  for (let step = 1; !before.includes('.aw-storage') || !lines(join(home, 'storage.id')).includes('made'); step++) {
    fs.rmSync(home, { recursive: true, force: true })
    expect(run(step)).toMatchObject({ signal: 'SIGKILL', stderr: '' })
    before.splice(0, before.length, ...(fs.existsSync(root) ? fs.readdirSync(root) : []))
    if (step % 2 === 0) expect(run()).toMatchObject({ status: 0, stderr: '' })
    expect(step).toBeLessThan(200)
  }
  expect(run()).toMatchObject({ status: 0, stderr: '' })
})
