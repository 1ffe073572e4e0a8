import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { collect } from '../../support/collect.ts'
import { fileSystemOf } from '../../../src/sys/fs/file-system.ts'
import { MB, openHome, outcome, until, write, type SpaceHome } from './fixture.ts'

/** A workspace at its size limit: by the kernel on btrfs with quotas as root, else watched. The limit is always 4 MB. */

const config = { max_size_mb: 4 }
const tooMuch = { kernel: 'EDQUOT', watched: 'ok' }

function sourceOf({ home }: SpaceHome): string {
  const source = `${home}-source`
  fs.mkdirSync(source)
  fs.writeFileSync(join(source, 'large'), Buffer.alloc(8 * MB, 'source'))
  return source
}

/** On btrfs this also gives back what was erased, which takes up to half a minute else. */
function sync(path: string): void {
  if (fileSystemOf(path) === 'btrfs') execFileSync('btrfs', ['filesystem', 'sync', path])
  else execFileSync('sync', ['-f', path])
}

it('may hold so much beyond what it began as, and no more; everything else goes on', async () => {
  await using home = await openHome()
  const { aw, grade, path } = home
  const ws = await aw.create({ id: 'a', from: { folder: sourceOf(home) }, config })
  expect(await aw.show('a')).toMatchObject({ size_limit: { mb: 4, grade } })
  await ws.files.write('work/one', Buffer.alloc(3 * MB, '1'))
  sync(home.home)
  expect(await outcome(ws.files.write('work/two', Buffer.alloc(2 * MB, '2')))).toBe('quota_exceeded')
  await expect(ws.files.append('work/one', Buffer.alloc(2 * MB, '2'))).rejects.toMatchObject({
    code: 'quota_exceeded',
    exitCode: 7,
    data: { limit_mb: 4, grade },
    message: expect.stringContaining('a/main is at its size limit of 4 MB') as string,
  })
  expect(fs.existsSync(path('a', 'two'))).toBe(false)
  expect(write(path('a', 'past aw'), 3 * MB)).toBe(tooMuch[grade])
  sync(home.home)
  const { workspaces } = await aw.usage({ ids: ['a'] })
  expect(workspaces[0]?.over).toBe(grade === 'watched')
  expect(workspaces[0]?.growth_bytes).toBeGreaterThan(2 * MB)
  // What others write past a limit is noticed late: on a busy machine what was measured last holds a little longer.
  if (grade === 'watched') await until(async () => (await outcome(aw.snapshot('a'))) === 'quota_exceeded')
  else expect(await outcome(aw.snapshot('a'))).toBe('ok')

  // The kernel may have let a part of what was appended pass.
  expect((await ws.files.read('work/one')).length).toBeGreaterThanOrEqual(3 * MB)
  expect((await ws.files.list('work')).entries.map(({ path: file }) => file)).toContain('work/large')
  await aw.label('a', { labels: { full: 'yes' } })
  await aw.rename('a', { to: 'b' })
  await aw.destroy('b')
  await aw.undelete('b')
  expect(fs.readFileSync(path('b', 'one')).length).toBeGreaterThanOrEqual(3 * MB)
  for (const file of ['work/one', 'work/past aw']) await ws.files.remove(file, { if_exists: true })
  // What a snapshot of it holds counts too where the kernel counts.
  if (grade === 'kernel') await aw.manager.call('snapshot remove', { id: 'b', snapshots: ['head'] })
  const again = { id: 'b', path: 'work/two', content: Buffer.alloc(2 * MB, '2') }
  await until(async () => {
    sync(home.home)
    return (await outcome(aw.manager.call('fs write', again))) === 'ok'
  })
  await aw.snapshot('b')
})

it('holds for a second one of the same source, a fork, a reset and a restore alike', async () => {
  await using home = await openHome()
  const { aw, grade, path } = home
  const from = { folder: sourceOf(home) }
  await aw.create({ id: 'first', from, config })
  await aw.create({ id: 'second', from, config })
  await aw.snapshot('first')
  await aw.manager.call('fork', { id: 'first', to: ['fork'] })
  await aw.create({ id: 'restored', from, config })
  await aw.snapshot('restored', { label: 'clean' })
  write(path('restored', 'one'), 3 * MB)
  await aw.restore('restored', { snapshot: 'clean' })
  await aw.create({ id: 'reset', from, config })
  write(path('reset', 'one'), 3 * MB)
  await aw.reset('reset')
  for (const name of ['first', 'second', 'fork', 'restored', 'reset']) {
    expect([name, (await aw.show(name)).size_limit]).toEqual([name, { mb: 4, grade }])
    expect([name, write(path(name, 'fits'), 3 * MB)]).toEqual([name, 'ok'])
    sync(home.home)
    const more = aw.manager.call('fs write', { id: name, path: 'work/more', content: Buffer.alloc(2 * MB, 'm') })
    expect([name, await outcome(more)]).toEqual([name, 'quota_exceeded'])
    expect([name, write(path(name, 'past aw'), 2 * MB)]).toEqual([name, tooMuch[grade]])
  }
})

it('may grow when it is let, and its limit can go and come', async () => {
  await using home = await openHome()
  const { aw, grade, path } = home
  const limit = async (size: string) => {
    sync(home.home)
    return (await aw.manager.call('limit', { id: 'a', size })).size_limit
  }
  const add = (name: string, mb: number): string => {
    const said = write(path('a', name), mb * MB)
    if (said !== 'ok') fs.rmSync(path('a', name), { force: true })
    sync(home.home)
    return said
  }
  await aw.create({ id: 'a', from: { folder: sourceOf(home) }, config })
  expect(add('one', 3)).toBe('ok')
  expect(await limit('10')).toEqual({ mb: 10, grade })
  // The same again gives nothing more.
  expect(await limit('10')).toEqual({ mb: 10, grade })
  expect(add('two', 5)).toBe('ok')
  expect(add('three', 4)).toBe(tooMuch[grade])
  fs.rmSync(path('a', 'three'), { force: true })
  sync(home.home)
  expect(await limit('none')).toEqual({ mb: 0, grade: 'none' })
  expect(add('four', 20)).toBe('ok')
  // It has more than that already: nothing of it goes, and nothing more comes.
  expect(await limit('5')).toEqual({ mb: 5, grade })
  expect(await outcome(aw.manager.call('fs write', { id: 'a', path: 'work/five', content: Buffer.alloc(MB) }))).toBe(
    'quota_exceeded',
  )
  const { findings } = await aw.doctor({})
  expect(findings.filter(({ name, status }) => name === 'size limits' && status === 'warning')).toHaveLength(1)
  expect(await limit('36')).toEqual({ mb: 36, grade })
  expect(add('six', 4)).toBe('ok')
  expect(add('seven', 8)).toBe(tooMuch[grade])
})

it('stops a command that passes the limit where the kernel does not, and counts what a fork adds only', async () => {
  await using home = await openHome({ 'space.watch_ms': '100' })
  const { aw, grade, path } = home
  await aw.create({ id: 'a', from: { folder: sourceOf(home) }, config })
  write(path('a', 'one'), 3 * MB)
  sync(home.home)
  await aw.snapshot('a')
  await aw.manager.call('fork', { id: 'a', to: ['fork'] })
  const exec = (id: string, script: string) =>
    collect(aw.manager.stream('exec', { id, argv: ['sh', '-c', script], isolation: 'none' }))
  const fill = (mb: number): string => `dd if=/dev/zero of=more bs=1M count=${mb} conv=fsync 2>/dev/null || exit 7`
  expect((await exec('fork', `${fill(3)}; sleep 1`)).at(-1)).toMatchObject({ type: 'exit', code: 0 })
  for (const id of ['a', 'fork']) {
    const running = exec(id, `${fill(9)}; sleep 60`)
    if (grade === 'watched') expect([id, await outcome(running)]).toEqual([id, 'quota_exceeded'])
    else expect((await running).at(-1)).toMatchObject({ type: 'exit', code: 7 })
  }
})

it('without a limit there is none', async () => {
  await using home = await openHome()
  const { aw, path } = home
  await aw.create({ id: 'a', config: { max_size_mb: 0 } })
  expect(write(path('a', 'large'), 20 * MB)).toBe('ok')
  expect(await aw.show('a')).toMatchObject({ size_limit: { mb: 0, grade: 'none' } })
  await aw.snapshot('a')
})
