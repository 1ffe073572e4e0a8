import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { freeze } from '../../snapshot.ts'
import { entryAt, readManifest } from '../manifest.ts'
import { openObjects } from '../objects.ts'
import { readEntry } from './read-entry.ts'
import { readIndex } from './stat-index.ts'
import { statEntry } from '../../../../../sys/trees/stat.ts'
import { openStore, type Store } from '../store.ts'

let root: string
let store: Store
let count: number
/** Without the program that helps to look. */
let alone = false
const volume = (name = ''): string => join(root, 'volume', name)

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'aw-scan-'))
  fs.mkdirSync(volume())
  fs.mkdirSync(join(root, 'snapshots'))
  store = openStore(root)
  count = 0
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

/** Freezes the volume, and answers what the snapshot says is in a file. */
async function frozen(name = 'file'): Promise<string | undefined> {
  const file = join(root, 'snapshots', String(++count))
  await freeze(store, volume(), file, { alone })
  const entry = entryAt(readManifest(file) ?? { consistency: 'atomic', lines: [] }, name)
  return entry?.content && fs.readFileSync(openObjects(root).path(entry.content), 'utf8')
}

const remembered = (): string[] => {
  const top = fs.openSync(volume(), 'r')
  try {
    return [...readIndex(store.indexFile(top)).entries.keys()]
  } finally {
    fs.closeSync(top)
  }
}

/** Older than a tick, so that what is frozen now is remembered. */
const settle = async (): Promise<unknown> => sleep(60)

describe.each([
  ['with a program', false],
  ['by ourselves', true],
])('a change is seen %s', (_, isAlone) => {
  beforeEach(async () => {
    alone = isAlone
    fs.writeFileSync(volume('file'), 'before')
    await settle()
    await frozen()
  })

  test('only where there is one: the file is remembered', async () => {
    expect(remembered()).toContain('file')
    expect(await frozen()).toBe('before')
  })

  test('that keeps size and time', async () => {
    const { atime, mtime } = fs.statSync(volume('file'))
    fs.writeFileSync(volume('file'), 'AFTER!')
    fs.utimesSync(volume('file'), atime, mtime)
    expect(await frozen()).toBe('AFTER!')
  })

  test('that is a rename of another file of the same size and time', async () => {
    fs.writeFileSync(volume('other'), 'AFTER!')
    const { atime, mtime } = fs.statSync(volume('file'))
    fs.utimesSync(volume('other'), atime, mtime)
    fs.renameSync(volume('other'), volume('file'))
    expect(await frozen()).toBe('AFTER!')
  })

  test('that is a new file with the number of the old one', async () => {
    const { atime, mtime, ino } = fs.statSync(volume('file'))
    for (let round = 0; round < 50; round++) {
      fs.unlinkSync(volume('file'))
      fs.writeFileSync(volume('file'), 'AFTER!')
      if (fs.statSync(volume('file')).ino === ino) break
    }
    fs.utimesSync(volume('file'), atime, mtime)
    expect(await frozen()).toBe('AFTER!')
  })

  test('that is an exchange of two directories', async () => {
    for (const name of ['one', 'two']) fs.mkdirSync(volume(name))
    fs.writeFileSync(volume('one/file'), 'first!')
    fs.writeFileSync(volume('two/file'), 'second')
    for (const name of ['one/file', 'two/file']) fs.utimesSync(volume(name), 1, 1)
    await settle()
    expect(await frozen('one/file')).toBe('first!')
    fs.renameSync(volume('one'), volume('three'))
    fs.renameSync(volume('two'), volume('one'))
    fs.renameSync(volume('three'), volume('two'))
    expect(await frozen('one/file')).toBe('second')
  })

  test('that is made through a mapped page', async () => {
    const script = `
import mmap, sys
with open(sys.argv[1], 'r+b') as file:
    pages = mmap.mmap(file.fileno(), 0)
    pages[0:1] = b'1'
    print('one', flush=True)
    sys.stdin.readline()
    pages[0:1] = b'2'
    print('two', flush=True)
    sys.stdin.readline()`
    const writer = spawn('python3', ['-c', script, volume('file')])
    try {
      await once(writer.stdout, 'data')
      await settle()
      expect(await frozen()).toBe('1efore')
      writer.stdin.write('\n')
      await once(writer.stdout, 'data')
      expect(await frozen()).toBe('2efore')
    } finally {
      writer.kill('SIGKILL')
    }
  })
})

test('what was written within a tick of the snapshot is not remembered, and read again', async () => {
  for (let round = 0; round < 20; round++) {
    fs.writeFileSync(volume('file'), `round ${round % 10}`)
    fs.utimesSync(volume('file'), 1, 1)
    expect(await frozen()).toBe(`round ${round % 10}`)
  }
  fs.writeFileSync(volume('file'), 'the last')
  await frozen()
  expect(remembered()).not.toContain('file')
})

test('an index that is damaged, or of other contents, is not believed', async () => {
  fs.writeFileSync(volume('file'), 'before')
  await settle()
  await frozen()
  const index = join(root, 'index', fs.readdirSync(join(root, 'index'))[0] ?? '')
  const bytes = fs.readFileSync(index)
  bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 1
  fs.writeFileSync(index, bytes)
  expect(remembered()).toEqual([])
  expect(await frozen()).toBe('before')
})

test('a file of which nothing is there takes no room in the store', async () => {
  fs.writeFileSync(volume('sparse'), 'start')
  fs.truncateSync(volume('sparse'), 2 ** 30)
  await freeze(store, volume(), join(root, 'snapshots', 'sparse'))
  const entry = entryAt(
    readManifest(join(root, 'snapshots', 'sparse')) ?? { consistency: 'atomic', lines: [] },
    'sparse',
  )
  const stat = fs.statSync(openObjects(root).path(entry?.content ?? ''))
  expect(stat.size).toBe(2 ** 30)
  expect(stat.blocks * 512).toBeLessThan(1024 * 1024)
})

test('contents with and without holes have one name, and no plain content has that of one with zeros', async () => {
  fs.writeFileSync(volume('dense'), Buffer.alloc(200_000))
  fs.writeFileSync(volume('sparse'), '')
  fs.truncateSync(volume('sparse'), 200_000)
  fs.writeFileSync(volume('plain'), 'plain')
  await freeze(store, volume(), join(root, 'snapshots', 'all'))
  const manifest = readManifest(join(root, 'snapshots', 'all')) ?? { consistency: 'atomic', lines: [] }
  const [dense, sparse, plain] = ['dense', 'sparse', 'plain'].map((name) => entryAt(manifest, name)?.content)
  expect(dense).toBe(sparse)
  expect(dense).toMatch(/^s[0-9a-f]{64}$/)
  expect(plain).toBe(createHash('sha256').update('plain').digest('hex'))
})

test('a file that says it has terabytes takes no more steps than one that has some', () => {
  fs.writeFileSync(volume('sparse'), 'x')
  fs.truncateSync(volume('sparse'), 8 * 1024 ** 4)
  const top = fs.openSync(volume(), 'r')
  function* read(): Generator<void, { content: string; bytes: number }> {
    yield
    return { content: 'x', bytes: 8 * 1024 ** 4 }
  }
  try {
    const print = statEntry(top, 'sparse')?.print ?? ''
    const steps = readEntry({ path: 'sparse', name: 'sparse', directory: top, print }, { writeOut: true, read })
    let taken = 0
    for (; !steps.next().done; taken++) expect(taken).toBeLessThan(5000)
    expect(taken).toBeGreaterThan(0)
  } finally {
    fs.closeSync(top)
  }
})
