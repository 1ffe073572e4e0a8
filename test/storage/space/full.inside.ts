import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { expect, it } from 'vitest'
import { toAwError } from '../../../src/domain/errors.ts'
import { fileSystemOf } from '../../../src/sys/fs/file-system.ts'
import { openHome, outcome, until } from './fixture.ts'

/** On a file system of a few hundred MB. */

function fill(file: string): string {
  let code = ''
  for (const size of [1_048_576, 4096]) {
    try {
      for (;;) fs.appendFileSync(file, Buffer.alloc(size, 'x'))
    } catch (error) {
      code = (error as NodeJS.ErrnoException).code ?? ''
    }
  }
  return code
}

it('a disk that a workspace has filled: clear errors, nothing lost, and room again after a purge', async () => {
  await using home = await openHome()
  const { aw, path } = home
  const source = `${home.home}-source`
  fs.mkdirSync(source)
  fs.writeFileSync(`${source}/file`, Buffer.alloc(5_000_000, 's'))
  // SQLite maps it: where it could not be written in place, a full disk would end the process.
  if (fileSystemOf(home.home) === 'btrfs')
    expect(execFileSync('lsattr', [`${home.home}/log.db-shm`], { encoding: 'utf8' })).toMatch(/^\S*C/)
  const before = (await aw.usage({})).storage.free_bytes
  for (const id of ['large', 'small', 'other']) await aw.create({ id, config: { max_size_mb: 0 } })
  fs.writeFileSync(path('small', 'kept'), 'kept')
  fs.writeFileSync(path('small', 'more-kept'), randomBytes(3_000_000))
  await aw.snapshot('small')
  expect(fill(path('large', 'filler'))).toBe('ENOSPC')

  const write = { id: 'small', path: 'work/more', content: Buffer.alloc(2_000_000, 'm') }
  expect(await outcome(aw.manager.call('fs write', write))).toBe('disk_full')
  expect(await outcome(aw.create({ id: 'new', from: { folder: source } }))).toBe('disk_full')
  // Where a copy takes up room, which disk it is that has none is told: the archive would have gone to another.
  const elsewhere = fs.mkdtempSync('/dev/shm/aw-full-')
  try {
    const { driver } = await aw.get('small')
    const exported = await aw.manager.call('export', { of: 'small', file: `${elsewhere}/small.aw` }).then(
      () => 'ok',
      (error: unknown) => toAwError(error).message,
    )
    const copies = driver === 'dir' && fileSystemOf(home.home) === 'ext4'
    expect(exported).toMatch(copies ? /^There is no room where workspaces are kept/ : /^ok$|^There is no room where/)
  } finally {
    fs.rmSync(elsewhere, { recursive: true })
  }
  const report = await aw.usage({})
  expect(report.workspaces[0]).toMatchObject({ name: 'large/main', complete: true })
  expect(report.warnings).toContainEqual(expect.stringMatching(/^the storage is (9\d|100)% full$/))
  const { findings } = await aw.doctor({})
  expect(findings).toContainEqual(expect.objectContaining({ name: 'space', status: 'warning' }))
  expect(String(await aw.manager.call('fs read', { id: 'small', path: 'work/kept' }))).toBe('kept')
  expect(await aw.list({})).toHaveLength(3)
  expect(await aw.snapshots('small')).toHaveLength(1)
  await aw.destroy('other')
  await aw.undelete('other')
  await aw.destroy('other', { purge: true })
  expect((await aw.audit.verify({})).intact).toBe(true)

  await aw.destroy('large', { purge: true })
  // btrfs gives back what was erased when it comes to it.
  await until(async () => (await aw.usage({})).storage.free_bytes > before * 0.8)
  await aw.manager.call('fs write', write)
  await aw.create({ id: 'new', from: { folder: source } })
  expect(fs.readFileSync(path('small', 'kept'), 'utf8')).toBe('kept')
  expect((await aw.list({})).map(({ name }) => name).toSorted()).toEqual(['new/main', 'small/main'])
})

it('a repository that does not fit: a clear error, nothing left, and it works when there is room', async () => {
  await using home = await openHome({ 'space.min_free_mb': '1' })
  const { aw } = home
  const repo = `${home.home}-repository`
  fs.mkdirSync(repo)
  fs.writeFileSync(`${repo}/large`, randomBytes(40_000_000))
  const settings = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'init.defaultBranch=main']
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
    ['commit', '--quiet', '--message', 'large'],
  ])
    execFileSync('git', [...settings, ...args], { cwd: repo })
  fs.rmSync(`${repo}/large`)
  const filler = `${home.home}-filler`
  const free = (): number => {
    const { bavail, bsize } = fs.statfsSync(home.home)
    return bavail * bsize
  }
  while (free() > 55_000_000) fs.appendFileSync(filler, randomBytes(1_000_000), { flush: true })
  const error = await aw.create({ id: 'large', repo }).then(
    () => undefined,
    (cause: unknown) => toAwError(cause),
  )
  expect(error).toMatchObject({ code: 'disk_full', hint: expect.stringContaining('aw gc') as unknown })
  expect(await outcome(aw.get('large'))).toBe('workspace_not_found')
  expect((await aw.recover()).leftovers).toEqual([])
  fs.rmSync(filler)
  await until(async () => free() > 120_000_000)
  expect(await aw.create({ id: 'large', repo })).toMatchObject({ state: 'ready' })
})
