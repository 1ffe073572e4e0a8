import {
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Place } from '../../../ports/storage-driver.ts'
import { native } from '../../../sys/syscalls/native.ts'
import { collect } from '../../../../test/support/collect.ts'
import { hostSubject } from '../../../../test/support/host-subject.ts'
import { code, staged, storageContract } from '../../../../test/contracts/storage.ts'
import { makeTree, readTree } from '../../../../test/support/tree.ts'
import { dirStorage } from './driver.ts'

storageContract('dir', async () => {
  const base = mkdtempSync(join(tmpdir(), 'aw-dir-'))
  const root = join(base, 'storage')
  return hostSubject({ base, root, open: () => dirStorage({ root, claim: join(base, 'storage.id') }) })
})

function makeBase(): string {
  const base = mkdtempSync(join(tmpdir(), 'aw-dir-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  return base
}

describe('dir, beyond the contract', () => {
  it('keeps extended attributes and ACLs', async () => {
    const base = makeBase()
    const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
    const source = join(base, 'source')
    mkdirSync(source)
    makeTree(source, { a: { kind: 'file', content: '1' }, d: { kind: 'directory' } })
    // Version 2; user rw, user 65534 r, group r, mask r, others r: as the kernel stores it.
    const acl = Buffer.from(
      '0200000001000600ffffffff02000400feff000004000400ffffffff10000400ffffffff20000400ffffffff',
      'hex',
    )
    const set = (path: string, name: string, value: Buffer): void =>
      withFd(path, (fd) => native()?.fsetxattr(fd, name, value))
    const get = (path: string, name: string): Buffer | undefined => withFd(path, (fd) => native()?.fgetxattr(fd, name))
    set(join(source, 'a'), 'user.note', Buffer.from('of a file\0'))
    set(join(source, 'a'), 'system.posix_acl_access', acl)
    set(join(source, 'd'), 'user.note', Buffer.from('of a directory'))
    await storage.create(staged)
    await storage.import(staged, { folder: source }, { into: 'in' })
    const copy = join(storage.attachment(staged).path, 'in')
    expect(get(join(copy, 'a'), 'user.note')).toEqual(Buffer.from('of a file\0'))
    expect(get(join(copy, 'a'), 'system.posix_acl_access')).toEqual(acl)
    expect(get(join(copy, 'd'), 'user.note')).toEqual(Buffer.from('of a directory'))
  })

  it('takes a snapshot though the one before it is damaged', async () => {
    const base = makeBase()
    const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
    const [volume, head, next] = [
      { area: 'volumes', name: 'v' },
      { area: 'snapshots', name: 'head' },
      { area: 'snapshots', name: 'next' },
    ] as const
    await storage.create(volume)
    await storage.snapshot(volume, head)
    writeFileSync(join(base, 'storage/snapshots/head'), 'aw-manifest 1\nnonsense\n')
    expect(await storage.snapshot(volume, next, { since: head })).toMatchObject({ changed: null })
    expect(await storage.verify(next)).toMatchObject({ problems: [] })
  })

  it('an undo has the right bytes though their content was damaged before the snapshot', async () => {
    const base = makeBase()
    const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
    const volume = { area: 'volumes', name: 'v' } as const
    const snap = (name: string) => ({ area: 'snapshots', name }) as const
    const file = join(base, 'storage/volumes/v/file')
    await storage.create(volume)
    writeFileSync(file, 'good')
    await sleep(60)
    await storage.snapshot(volume, snap('one'))
    const objects = join(base, 'storage/objects')
    const [digits = ''] = readdirSync(objects)
    const object = join(objects, digits, readdirSync(join(objects, digits))[0] ?? '')
    for (const [damaged, next] of [
      ['goo', 'two'],
      ['evil', 'three'],
    ] as const) {
      rmSync(object)
      writeFileSync(object, damaged)
      expect((await storage.verify(snap('one'))).problems).toHaveLength(1)
      await storage.snapshot(volume, snap(next))
      rmSync(file)
      await storage.restore(volume, snap(next), snap(`kept-${next}`))
      expect(readFileSync(file, 'utf8')).toBe('good')
      await sleep(60)
    }
    expect((await storage.verify(snap('one'))).problems).toEqual([])
  })

  it('keeps, compares and restores a tree that is large enough for a program to help', async () => {
    const base = makeBase()
    const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
    const place = <A extends 'volumes' | 'snapshots'>(area: A, name: string) => ({ area, name })
    const [volume, fork] = [place('volumes', 'v'), place('volumes', 'f')]
    const [one, two, kept] = ['one', 'two', 'kept'].map((name) => place('snapshots', name)) as [Place, Place, Place]
    const at = (name: string): string => join(base, 'storage/volumes/v', name)
    await storage.create(volume)
    for (let i = 0; i < 1500; i++) {
      mkdirSync(at(`d${i % 30}/e${i % 7}`), { recursive: true })
      writeFileSync(at(`d${i % 30}/e${i % 7}/f${i}`), `content ${i}`)
    }
    await sleep(60)
    await storage.snapshot(volume, one)
    const before = readTree(at('.'))
    expect(
      statSync(join(base, 'storage/index', readdirSync(join(base, 'storage/index'))[0] ?? '')).size,
    ).toBeGreaterThan(128 * 1024)
    writeFileSync(at('d3/e3/f3'), 'changed')
    rmSync(at('d4'), { recursive: true })
    mkdirSync(at('new/directory'), { recursive: true })
    writeFileSync(at('new/directory/file'), 'new')
    const told = async (from: Place, to: Place): Promise<string[]> =>
      (await collect(storage.diff(from, to))).map(({ change, path }) => `${change} ${path}`)
    const changes = await told(one, volume)
    expect(changes).toEqual(expect.arrayContaining(['changed d3/e3/f3', 'removed d4', 'added new/directory/file']))
    expect(await storage.snapshot(volume, two, { since: one })).toMatchObject({ changed: changes.length })
    expect(await told(one, two)).toEqual(changes)
    await storage.create(fork, { from: two })
    expect(readTree(join(base, 'storage/volumes/f'))).toEqual(readTree(at('.')))
    await storage.restore(volume, one, kept)
    expect(readTree(at('.'))).toEqual(before)
    expect(await told(two, kept)).toEqual([])
  })

  it('copies a file with holes byte for byte', async () => {
    const base = makeBase()
    const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
    const source = join(base, 'source')
    mkdirSync(source)
    writeFileSync(join(source, 'sparse'), 'start')
    truncateSync(join(source, 'sparse'), 8_000_000)
    await storage.create(staged)
    await storage.import(staged, { folder: source }, { into: '.' })
    expect(readTree(storage.attachment(staged).path)).toEqual(readTree(source))
  })

  it('copies a tree that is deeper than a path can be long', async () => {
    const base = makeBase()
    const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
    const name = 'd'.repeat(200)
    const before = process.cwd()
    mkdirSync(join(base, 'source'))
    try {
      process.chdir(join(base, 'source'))
      for (let depth = 0; depth < 40; depth++) {
        mkdirSync(name)
        process.chdir(name)
      }
      writeFileSync('bottom', 'reached')
    } finally {
      process.chdir(before)
    }
    await storage.create(staged)
    expect(await storage.import(staged, { folder: join(base, 'source') }, { into: '.' })).toMatchObject({ files: 1 })
    expect(await storage.usage(staged)).toMatchObject({ files: 1, bytes: 7 })
    await storage.erase(staged)
    expect(await storage.list()).toEqual([])
  })

  it('never copies what a link that is swapped in leads to', async () => {
    const base = makeBase()
    const storage = dirStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
    mkdirSync(join(base, 'secret'))
    writeFileSync(join(base, 'secret', 'inner'), 'SECRET')
    const source = join(base, 'source')
    mkdirSync(source)
    const swapper = new Worker(swapping, { eval: true, workerData: { source, secret: join(base, 'secret') } })
    onTestFinished(async () => void (await swapper.terminate()))
    await new Promise((resolve) => swapper.once('message', resolve))
    let [seen, links] = [0, 0]
    for (let round = 0; round < 300; round++) {
      const place = { area: 'tmp', name: `op_${round}` } as const
      await storage.create(place)
      await storage.import(place, { folder: source }, { into: '.' })
      const tree = readTree(storage.attachment(place).path)
      expect(JSON.stringify(tree)).not.toContain('SECRET')
      seen += Object.keys(tree).length
      links += Object.values(tree).filter(({ kind }) => kind === 'symlink').length
      await storage.erase(place)
    }
    // The race took place: both faces of the names were copied.
    expect(links).toBeGreaterThan(0)
    expect(seen).toBeGreaterThan(links)
  })

  it('does not make a root anew that was there before: it is not mounted', async () => {
    const base = makeBase()
    const options = { root: join(base, 'mount', 'storage'), claim: join(base, 'storage.id') }
    await dirStorage(options).create(staged)
    rmSync(join(base, 'mount'), { recursive: true })
    const again = dirStorage(options)
    await expect(again.list()).rejects.toEqual(code('storage_unavailable'))
    expect(() => statSync(options.root)).toThrow('ENOENT')
    expect(await again.probe()).toMatchObject({ usable: false })
  })

  it('refuses the root of another home, and takes its own to a new path', async () => {
    const base = makeBase()
    await dirStorage({ root: join(base, 'one'), claim: join(base, 'one.id') }).create(staged)
    expect(() => dirStorage({ root: join(base, 'one'), claim: join(base, 'two.id') })).toThrow(
      /belongs to another home/,
    )
    const { renameSync } = await import('node:fs')
    renameSync(join(base, 'one'), join(base, 'moved'))
    expect(await dirStorage({ root: join(base, 'moved'), claim: join(base, 'one.id') }).list()).toEqual([staged])
    expect(readFileSync(join(base, 'one.id'), 'utf8')).toMatch(/^[0-9a-f]{32}\nmade\n$/)
  })
})

function withFd<T>(path: string, use: (fd: number) => T): T {
  const fd = openSync(path, 'r')
  try {
    return use(fd)
  } finally {
    closeSync(fd)
  }
}

/** Names that are now a file or directory, now a link to something outside. */
const swapping = `
const { workerData: { source, secret }, parentPort } = require('node:worker_threads')
const fs = require('node:fs')
const path = (name) => source + '/' + name
let first = true
for (;;) {
  for (const [name, target] of [['file', secret + '/inner'], ['dir', secret]]) {
    for (const kind of ['plain', 'link']) {
      const next = source + '.' + name
      fs.rmSync(next, { recursive: true, force: true })
      if (kind === 'link') fs.symlinkSync(target, next)
      else if (name === 'file') fs.writeFileSync(next, 'harmless')
      else fs.mkdirSync(next)
      if (name === 'dir') fs.rmSync(path(name), { recursive: true, force: true })
      fs.renameSync(next, path(name))
    }
  }
  if (first) parentPort.postMessage('swapping')
  first = false
}
`
