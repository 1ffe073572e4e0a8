import { execFileSync } from 'node:child_process'
import nodeFs, * as fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import type { Place } from '../../../src/ports/storage-driver.ts'
import type { OpenStorage, StorageSubject } from '../storage.ts'
import type { Tree } from '../../support/tree.ts'
import { type FolderBases, settle, withFolder } from './folder-bases.ts'
import { isRoot, pathOf, setAttribute, tellTree } from './host.ts'
import { sample } from './trees.ts'

const many: Tree = {
  ...sample,
  ...Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`d/many-${i}`, { kind: 'file', content: `${i}`, mode: 0o640 } as const]),
  ),
}

/** With everything that the kernel tells, as a program sees it that knows nothing of aw. */
async function toldFolder(open: OpenStorage, tree: Tree): Promise<{ subject: StorageSubject; bases: FolderBases }> {
  const subject = await open()
  const see = async (place: Place): Promise<unknown> => tellTree(join(await pathOf(subject, place), 'here'))
  return { subject, bases: await withFolder(subject, tree, see) }
}

/** What it costs, what only the kernel knows, and sources that fight back. */
export function importUpdateHostContract(open: OpenStorage): void {
  it('copies what has changed, and that alone', async () => {
    const { subject, bases } = await toldFolder(open, many)
    await settle()
    expect((await bases.renew()).changed).toBeUndefined()
    expect(await bases.renew()).toMatchObject({ changed: 0, files: 303 })
    subject.editFolder(bases.folder, { do: 'append', path: 'd/many-7', content: '!' })
    await settle()
    expect(await bases.renew()).toMatchObject({ changed: 1, files: 303 })
    expect(await bases.renew()).toMatchObject({ changed: 0 })
    // The directory is another too.
    subject.editFolder(bases.folder, { do: 'remove', path: 'd/many-8' }, { do: 'write', path: 'd/z', content: '' })
    await settle()
    expect(await bases.renew()).toMatchObject({ changed: 3, files: 303 })
    expect(await bases.renew()).toMatchObject({ changed: 0 })
    expect(bases.count()).toBe(3)
  })

  it('finds attributes, nanoseconds and holes', async () => {
    const { bases } = await toldFolder(open, many)
    const path = (name: string): string => join(bases.folder, name)
    setAttribute(path('x'), 'user.note', 'one')
    setAttribute(path('d'), 'user.note', 'one')
    await settle()
    await bases.renew()
    setAttribute(path('x'), 'user.note', 'two')
    setAttribute(path('d'), 'user.note', undefined)
    setAttribute(path('d/e'), 'user.note', 'new')
    execFileSync('touch', ['-d', '2001-02-03 04:05:06.123456789 UTC', path('a'), path('d/empty')])
    execFileSync('touch', ['-h', '-d', '2002-02-03 04:05:06.000000001 UTC', path('l')])
    fs.truncateSync(path('d/e/f'), 50_000_000)
    await bases.renew()
    await settle()
    await bases.renew()
    expect(await bases.renew()).toMatchObject({ changed: 0 })
  })

  it('finds that something may be read no more, or again', async () => {
    const { subject, bases } = await toldFolder(open, sample)
    await settle()
    await bases.renew()
    subject.editFolder(bases.folder, { do: 'chmod', path: 'd', mode: 0 }, { do: 'chmod', path: 'a', mode: 0 })
    const closed = await bases.renew()
    const left = [
      { path: 'a', reason: 'unreadable' },
      { path: 'b', reason: 'unreadable' },
      { path: 'd', reason: 'unreadable' },
    ]
    expect(closed.skipped.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual(isRoot ? [] : left)
    subject.editFolder(bases.folder, { do: 'chmod', path: 'd', mode: 0o500 }, { do: 'chmod', path: 'a', mode: 0o400 })
    expect((await bases.renew()).skipped).toEqual([])
    // In a directory that its owner may not write to.
    subject.editFolder(bases.folder, { do: 'append', path: 'd/e/f', content: '!' })
    fs.chmodSync(join(bases.folder, 'd/e'), 0o500)
    await settle()
    await bases.renew()
    fs.rmSync(join(bases.folder, 'a'))
    await bases.renew()
  })

  it('takes what it knows for nothing when it is damaged, or of another kind', async () => {
    const { subject, bases } = await toldFolder(open, sample)
    const root = join(subject.storage.attachment({ area: 'volumes', name: 'v' }).path, '../..')
    await settle()
    await bases.renew()
    for (const damage of ['byte', 'cut', 'version', 'empty'] as const) {
      const file = join(root, 'folder-indexes', `folder-${bases.count()}`)
      const bytes = fs.readFileSync(file)
      if (damage === 'byte') bytes[bytes.length - 10] = (bytes.at(-10) ?? 0) ^ 1
      if (damage === 'version') bytes.write('2', 16)
      const left = { byte: bytes.length, cut: bytes.length - 1, version: bytes.length, empty: 0 }[damage]
      fs.writeFileSync(file, bytes.subarray(0, left))
      subject.editFolder(bases.folder, { do: 'append', path: 'a', content: damage })
      await settle()
      expect((await bases.renew()).changed).toBeUndefined()
      expect(await bases.renew()).toMatchObject({ changed: 0 })
    }
    expect(fs.readdirSync(join(root, 'folder-indexes'))).toHaveLength(5)
    for (let number = 1; number <= 5; number++) await subject.storage.erase({ area: 'bases', name: `folder-${number}` })
    expect(fs.readdirSync(join(root, 'folder-indexes'))).toEqual([])
  })

  it.each(isRoot ? ['file', 'directory'] : [])('removes what a %s is mounted on', async (kind) => {
    const { bases } = await toldFolder(open, many)
    await settle()
    await bases.renew()
    const place = join(bases.folder, kind === 'file' ? 'x' : 'd')
    execFileSync('mount', ['--bind', place, place])
    try {
      expect(await bases.renew()).toMatchObject({ skipped: [{ reason: 'mount' }] })
    } finally {
      execFileSync('umount', [place])
    }
    expect(await bases.renew()).toMatchObject({ skipped: [] })
  })

  it.each(swaps)('never copies what a link leads to: %s', async (_, { to, when, copied }) => {
    const subject = await open()
    const bases = await withFolder(subject, sample)
    const secret = subject.folder({ inner: { kind: 'file', content: 'SECRET' } })
    await settle()
    await bases.renew()
    for (const name of swapped) putFace(bases.folder, name, to === 'link' ? 'plain' : 'link', secret)
    const place: Place = { area: 'tmp', name: 'swapped' }
    await subject.storage.create(place, { from: { area: 'bases', name: 'folder-1' } })
    const left = new Set<string>(swapped)
    {
      using _hook = aroundOpening(when, (path) => {
        const name = [...left].find((one) => path.endsWith(`/${one.slice(one.lastIndexOf('/') + 1)}`))
        if (name !== undefined && left.delete(name)) putFace(bases.folder, name, to, secret)
      })
      const index = { name: 'folder-2', since: 'folder-1' }
      await subject.storage.import(place, { folder: bases.folder }, { into: 'here', index })
    }
    // Each was swapped in that very moment.
    expect([...left]).toEqual([])
    const tree = subject.read(place)
    expect(JSON.stringify(tree)).not.toContain('SECRET')
    expect(swapped.map((name) => tree[`here/${name}`]?.kind)).toEqual(copied)
    await subject.storage.erase(place)
    await bases.renew()
  })

  it('finds in the end what was changed while it read', async () => {
    const { subject, bases } = await toldFolder(open, many)
    await settle()
    await bases.renew()
    const writer = await start(writing, { source: bases.folder })
    const stage: Place = { area: 'tmp', name: 'busy' }
    let last = 'folder-1'
    for (let round = 1; round < 12; round++) {
      await subject.storage.create(stage, { from: { area: 'bases', name: last } })
      const index = { name: `busy-${round}`, since: last }
      await subject.storage.import(stage, { folder: bases.folder }, { into: 'here', index })
      last = index.name
      await subject.storage.snapshot(stage, { area: 'bases', name: last })
      await subject.storage.erase(stage)
    }
    await writer.terminate()
    const [one, other]: Place[] = [stage, { area: 'tmp', name: 'whole' }]
    await subject.storage.create(one as Place, { from: { area: 'bases', name: last } })
    await subject.storage.create(other as Place)
    const index = { name: 'busy-last', since: last }
    const report = await subject.storage.import(one as Place, { folder: bases.folder }, { into: 'here', index })
    await subject.storage.import(other as Place, { folder: bases.folder }, { into: 'here' })
    expect(report.changed).toBeLessThan(303)
    const tell = async (place: Place): Promise<unknown> => tellTree(join(await pathOf(subject, place), 'here'))
    expect(await tell(one as Place)).toEqual(await tell(other as Place))
  })
}

async function start(program: string, workerData: unknown): Promise<Worker> {
  const worker = new Worker(program, { eval: true, workerData })
  onTestFinished(async () => void (await worker.terminate()))
  await new Promise((resolve) => worker.once('message', resolve))
  return worker
}

/** Names that are now a file or directory, now a link to something outside. */
const swapped = ['x', 'd/empty', 'd/e'] as const

interface Swap {
  readonly to: 'link' | 'plain'
  /** What was seen under the name is swapped before that is opened, or after. */
  readonly when: 'before' | 'after'
  /** What of them is in the copy. */
  readonly copied: readonly unknown[]
}

const swaps: readonly (readonly [string, Swap])[] = [
  [
    'one that has come since it was looked at',
    { to: 'link', when: 'before', copied: ['symlink', 'symlink', 'symlink'] },
  ],
  // Of a directory that was removed nothing can be read.
  ['one that comes when it is open', { to: 'link', when: 'after', copied: ['file', undefined, undefined] }],
  ['one that has gone since', { to: 'plain', when: 'before', copied: ['file', 'directory', 'directory'] }],
  ['one that goes when it is known', { to: 'plain', when: 'after', copied: [undefined, undefined, undefined] }],
]

function putFace(folder: string, name: string, face: 'link' | 'plain', secret: string): void {
  const place = join(folder, name)
  fs.rmSync(place, { recursive: true, force: true })
  if (face === 'link') fs.symlinkSync(name === 'x' ? join(secret, 'inner') : secret, place)
  else if (name === 'x') fs.writeFileSync(place, 'harmless')
  else fs.mkdirSync(place)
}

/** Does something right before or after anything is opened by a path in this process. */
function aroundOpening(when: Swap['when'], act: (path: string) => void): Disposable {
  const { openSync } = nodeFs
  let isActing = false
  const meddle = (path: fs.PathLike): void => {
    if (isActing) return
    isActing = true
    act(String(path))
    isActing = false
  }
  const opening = (...call: Parameters<typeof openSync>): number => {
    if (when === 'before') meddle(call[0])
    const fd = openSync(...call)
    if (when === 'after') meddle(call[0])
    return fd
  }
  const put = (open: typeof openSync): void => {
    nodeFs.openSync = open
    syncBuiltinESMExports()
  }
  put(opening)
  return { [Symbol.dispose]: () => put(openSync) }
}

/** Writes, links, unlinks and renames: a few names, so that each changes often. */
const writing = `
const { workerData: { source }, parentPort } = require('node:worker_threads')
const fs = require('node:fs')
const at = (i) => source + '/d/many-' + i
for (let round = 0; ; round++) {
  const [one, other] = [at(round % 40), at((round * 7 + 3) % 40)]
  try {
    if (round % 5 === 0) fs.writeFileSync(one, String(round))
    else if (round % 5 === 1) fs.rmSync(other, { force: true })
    else if (round % 5 === 2) fs.linkSync(one, other)
    else if (round % 5 === 3) fs.renameSync(one, other)
    else {
      const fd = fs.openSync(one, 'r+')
      fs.writeSync(fd, String(round % 10), 0)
      fs.futimesSync(fd, 1600000000, 1600000000)
      fs.closeSync(fd)
    }
  } catch {}
  if (round === 0) parentPort.postMessage('writing')
}
`
