import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../aw.ts'
import type { StorageDriver } from '../../ports/storage-driver.ts'
import { code, staged } from '../../../test/contracts/storage.ts'
import { dirStorage } from './dir/driver.ts'

/** What belongs to aw is no source: to open and close a file that SQLite or a lock holds gives its locks away. */

interface Home {
  readonly base: string
  readonly storage: StorageDriver
}

function makeHome(): Home {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-guard-'))
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
  for (const name of ['home', 'home/locks', 'places', 'places/task', 'project']) fs.mkdirSync(join(base, name))
  fs.writeFileSync(join(base, 'home/log.db'), 'log')
  fs.writeFileSync(join(base, 'home/locks/a.lock'), 'lock')
  fs.writeFileSync(join(base, 'project/file'), 'kept')
  const storage = dirStorage({
    root: join(base, 'disk/storage'),
    claim: join(base, 'home/storage.id'),
    guarded: ['home', 'home/locks', 'places'].map((name) => join(base, name)),
  })
  return { base, storage }
}

function bind(what: string, where: string): void {
  fs.mkdirSync(where)
  execFileSync('mount', ['--bind', what, where])
  onTestFinished(() => void execFileSync('umount', [where]))
}

describe('a folder of aw is no source', () => {
  it.each(['home', 'home/locks', 'places', 'places/task', 'disk', 'disk/storage', 'disk/storage/tmp', '.'])(
    '%s',
    async (name) => {
      const { base, storage } = makeHome()
      await storage.create(staged)
      for (const folder of [join(base, name), `${join(base, name)}/`]) {
        await expect(storage.import(staged, { folder }, { into: '.' })).rejects.toEqual(code('source_failed'))
      }
    },
  )

  it('behind a link', async () => {
    const { base, storage } = makeHome()
    await storage.create(staged)
    fs.symlinkSync(join(base, 'home'), join(base, 'link'))
    const source = { folder: join(base, 'link/locks') }
    await expect(storage.import(staged, source, { into: '.' })).rejects.toEqual(code('source_failed'))
  })

  // Only root may mount.
  const mountable = ['home', 'home/locks', 'disk/storage', 'disk/storage/volumes', 'disk']
  it.each(process.getuid?.() === 0 ? mountable : [])('mounted elsewhere: %s', async (name) => {
    const { base, storage } = makeHome()
    await storage.create(staged)
    bind(join(base, name), join(base, 'elsewhere'))
    const source = { folder: join(base, 'elsewhere') }
    await expect(storage.import(staged, source, { into: '.' })).rejects.toEqual(code('source_failed'))
  })

  it('and the manager knows them all', async () => {
    const base = fs.mkdtempSync(join(tmpdir(), 'aw-guard-'))
    onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
    const set = { 'workspaces.base_path': join(base, 'places'), 'storage.root': join(base, 'disk/storage') }
    const manager = await openManager({ home: join(base, 'home'), env: {}, set })
    onTestFinished(() => manager[Symbol.asyncDispose]())
    const { path } = await manager.call('create', { id: 'a' })
    for (const from of ['home', 'home/locks', 'home/texts', 'places', 'disk', '.'].map((name) => join(base, name))) {
      await expect(manager.call('create', { id: 'b', from: { folder: from } })).rejects.toEqual(code('source_failed'))
    }
    await expect(manager.call('create', { id: 'b', from: { folder: path } })).rejects.toEqual(code('source_failed'))
  })
})

it('another name of a file of aw is left out, and reported', async () => {
  const { base, storage } = makeHome()
  await storage.create(staged)
  fs.linkSync(join(base, 'home/log.db'), join(base, 'project/innocent'))
  fs.linkSync(join(base, 'home/locks/a.lock'), join(base, 'project/second'))
  const report = await storage.import(staged, { folder: join(base, 'project') }, { into: '.' })
  expect(report.skipped.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: 'innocent', reason: 'guarded' },
    { path: 'second', reason: 'guarded' },
  ])
  expect(fs.readdirSync(storage.attachment(staged).path)).toEqual(['file'])
})
