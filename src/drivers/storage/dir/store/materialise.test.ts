import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { native } from '../../../../sys/syscalls/native.ts'
import { statEntry } from '../../../../sys/trees/stat.ts'
import { createFrom, importFrozen } from '../create.ts'
import { freeze, scanVolume } from '../snapshot.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { nameOf, openDirectories } from '../../../../sys/trees/directory-cache.ts'
import { materialise } from './materialise.ts'
import { openObjects } from './objects.ts'
import { subtreeOf } from './subtree.ts'
import { readIndex } from './scan/stat-index.ts'
import { openStore, type Store } from './store.ts'

let root: string
let store: Store
const volume = (name = ''): string => join(root, 'volume', name)
const frozenAt = (): string => join(root, 'snapshots/s')

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'aw-make-'))
  fs.mkdirSync(volume())
  fs.mkdirSync(join(root, 'snapshots'))
  store = openStore(root)
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

const isRoot = process.getuid?.() === 0
const ways = [
  ['alone', { alone: true }],
  ['with the program', {}],
] as const

async function frozen(): Promise<Manifest> {
  await freeze(store, volume(), frozenAt())
  return readManifest(frozenAt()) ?? { consistency: 'atomic', lines: [] }
}

/** What a tree is, read anew. Inodes are told by which path had them first. */
async function described(tree: string): Promise<string[]> {
  fs.rmSync(join(root, 'index'), { recursive: true })
  fs.mkdirSync(join(root, 'index'))
  const { lines } = await scanVolume(store, tree)
  const first = new Map<string, string>()
  return lines.map((line) => {
    const fields = line.split(' ')
    const [path = '', , , , , , inode = ''] = fields
    if (!first.has(inode)) first.set(inode, path)
    return fields.with(6, first.get(inode) ?? '').join(' ')
  })
}

/** Around the blocks of the hash, the pieces that are read, and what is read in one. */
const sizes = [0, 1, 55, 56, 63, 64, 65, 119, 120, 127, 128, 65_535, 65_536, 65_537, 1_048_575, 1_048_576, 1_048_577]

const bytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, (_, n) => 1 + ((n * 7 + size) % 251)))

/** An ACL as the kernel has it: the owner everything, the user 65534 to read, all others nothing. */
const acl = Buffer.from(
  '0200000001000700ffffffff02000400feff000004000000ffffffff10000400ffffffff20000000ffffffff',
  'hex',
)

/** Everything that a tree can have. */
function makeOddTree(): void {
  for (const size of sizes) fs.writeFileSync(volume(`of ${size}`), bytes(size))
  for (const part of ['a', 'a-b', 'a.b', 'a%b']) {
    const directory = volume(`${part}/e/f`)
    fs.mkdirSync(directory, { recursive: true })
    const at = (name: string): string => join(directory, name)
    for (let n = 0; n < 30; n++) fs.writeFileSync(at(`file-${n}`), `${part} ${n}`, { mode: 0o600 + n })
    fs.writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0x20, 0x0a, 0x25, 0xe4])]), 'odd')
    fs.writeFileSync(at('n'.repeat(255)), 'long')
    fs.symlinkSync('../../no where%', at('dangling'))
    fs.symlinkSync(Buffer.from([0xfe, 0x2f, 0x20]), at('leads to bytes'))
    fs.mkdirSync(at('nothing'))
    fs.linkSync(at('file-3'), volume(`${part}/twin`))
    for (const mode of [0o4755, 0o2755, 0o1644, 0o6711, 0]) {
      fs.writeFileSync(at(`mode-${mode}`), 'mode')
      fs.chmodSync(at(`mode-${mode}`), mode)
    }
    for (const mode of [0o555, 0o500, 0o2775, 0o1777, 0o700]) {
      fs.mkdirSync(at(`open-${mode}`))
      fs.writeFileSync(at(`open-${mode}/in`), 'in')
      fs.chmodSync(at(`open-${mode}`), mode)
      fs.utimesSync(at(`open-${mode}`), 12, 34)
    }
    fs.utimesSync(at('file-7'), 1.5, -3.25)
    fs.utimesSync(at('file-8'), 1.5, 9_999_999_999.5)
    fs.lutimesSync(at('dangling'), 1, 2.125)
  }
  fs.writeFileSync(volume('sparse'), 'start')
  fs.truncateSync(volume('sparse'), 3_000_000)
  execFileSync('mkfifo', [volume('a/e/pipe')])
  native()?.lsetxattr(volume('a/e/f/file-9'), 'user.colour', Buffer.from('blue'))
  native()?.lsetxattr(volume('a-b/e'), 'user.shape', Buffer.from('round'))
  native()?.lsetxattr(volume('a/e/f/file-10'), 'system.posix_acl_access', acl)
  native()?.lsetxattr(volume('a.b'), 'system.posix_acl_default', acl)
  fs.mkdirSync(volume(Array(60).fill('deep').join('/')), { recursive: true })
  fs.writeFileSync(volume(`${Array(60).fill('deep').join('/')}/bottom`), 'reached')
  if (isRoot) {
    execFileSync('chown', ['-R', '1234:1235', volume('a-b')])
    fs.lchownSync(volume('a/e/f/dangling'), 77, 78)
  }
  fs.chmodSync(volume(), 0o750)
  fs.utimesSync(volume(), 5, 6)
}

describe('what is odd', () => {
  test('is made as without the program, and as it was', async () => {
    makeOddTree()
    const manifest = await frozen()
    const was = await described(volume())
    for (const [way, how] of ways) {
      const told: number[] = []
      await createFrom(store, manifest, join(root, way), { ...how, onProgress: ({ files }) => told.push(files) })
      expect(await described(join(root, way))).toEqual(was)
      expect(fs.statSync(join(root, way, 'sparse')).blocks).toBeLessThan(1000)
      expect(told.length).toBeGreaterThan(0)
    }
    expect(was.length).toBeGreaterThan(250)
  })

  test('is counted as without the program, and remembered as the kernel tells it', async () => {
    makeOddTree()
    const { lines } = await frozen()
    const reports = []
    for (const [way, how] of ways) {
      fs.mkdirSync(join(root, way))
      const top = fs.openSync(join(root, way), 'r')
      try {
        const made = new Map<string, string>()
        const onMade = (one: { line: string; print: string }): unknown => made.set(one.line, one.print)
        const report = await materialise(store, top, lines, { ...how, onMade })
        const now = new Set((await scanVolume(store, join(root, way))).lines)
        expect([...made.keys()].filter((line) => !now.has(line))).toEqual([])
        using directories = openDirectories(top)
        for (const [line, print] of made) {
          const path = decodeURIComponent(line.slice(0, line.indexOf(' ')).replaceAll(/[\x80-\xff]/g, ''))
          if (path.includes('\n')) continue
          const seen = path === '.' ? statEntry(top, '') : statEntry(directories.holding(path), nameOf(path))
          expect([path, seen?.print]).toEqual([path, print])
        }
        reports.push([report, made.size])
      } finally {
        fs.closeSync(top)
      }
    }
    expect(reports[1]).toEqual(reports[0])
  })

  test('by an ordinary user too, and where few files may be open', async () => {
    makeOddTree()
    await frozen()
    const script = `
      import { openStore } from ${JSON.stringify(join(import.meta.dirname, 'store.ts'))}
      import { createFrom } from ${JSON.stringify(join(import.meta.dirname, '../create.ts'))}
      import { readManifest } from ${JSON.stringify(join(import.meta.dirname, 'manifest.ts'))}
      const [root, file] = ${JSON.stringify([root, frozenAt()])}
      for (const [way, how] of ${JSON.stringify(ways)})
        await createFrom(openStore(root), readManifest(file), root + '/' + way, how)`
    if (isRoot) execFileSync('chown', ['-R', '65534:65534', root])
    const who = isRoot ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'] : ['env']
    const few = [
      'prlimit',
      '--nofile=128:128',
      ...who,
      process.execPath,
      '--input-type=module-typescript',
      '-e',
      script,
    ]
    const { stderr } = spawnSync(few[0] ?? '', few.slice(1), { encoding: 'utf8' })
    expect(stderr).toBe('')
    const alone = await described(join(root, ways[0][0]))
    expect(await described(join(root, ways[1][0]))).toEqual(alone)
    expect(alone.length).toBeGreaterThan(250)
  })
})

/** Enough for the program to be started. */
function makePlainTree(files = 100, content = (n: number): string => `file ${n}`): void {
  for (let n = 0; n < files; n++) {
    if (n % 20 === 0) fs.mkdirSync(volume(`d${n / 20}/e`), { recursive: true })
    fs.writeFileSync(volume(`d${Math.floor(n / 20)}/e/${n}`), content(n))
  }
}

describe.each(ways)('%s', (_, how) => {
  test.each([
    ['damaged', (object: string) => fs.writeFileSync(object, 'File 33')],
    ['missing', (object: string) => fs.rmSync(object)],
    ['too long', (object: string) => fs.appendFileSync(object, 'more')],
    ['too short', (object: string) => fs.truncateSync(object, 3)],
  ])('a content that is %s is named, and nothing is there', async (_what, harm) => {
    makePlainTree()
    const manifest = await frozen()
    const content = manifest.lines.find((line) => line.startsWith('d1/e/33 '))?.split(' ')[9] ?? ''
    const object = openObjects(root).path(content)
    fs.chmodSync(object, 0o600)
    harm(object)
    await expect(createFrom(store, manifest, join(root, 'made'), how)).rejects.toMatchObject({
      code: 'filesystem_error',
      message: 'The content of d1/e/33 in the snapshot is missing or damaged',
      data: { path: 'd1/e/33', reason: 'damaged' },
    })
    expect(fs.readdirSync(join(root, 'incoming'))).toEqual([])
    expect(fs.existsSync(join(root, 'made'))).toBe(false)
  })

  test('who cancels it finds nothing', async () => {
    makePlainTree(2000, () => 'same')
    const manifest = await frozen()
    const stop = new AbortController()
    let begun = 0
    // With the first file: however fast it is, it is not over before we have been told.
    const onProgress = (): void => {
      begun = fs.readdirSync(join(root, 'incoming'), { recursive: true }).length
      stop.abort()
    }
    const making = createFrom(store, manifest, join(root, 'made'), { ...how, signal: stop.signal, onProgress })
    await expect(making).rejects.toMatchObject({ code: 'aborted' })
    expect(begun).toBeGreaterThan(2)
    expect(fs.readdirSync(join(root, 'incoming'))).toEqual([])
    expect(fs.existsSync(join(root, 'made'))).toBe(false)
  })

  test.each([
    ['a file', 'd1/e/33', 'EEXIST', (path: string) => fs.writeFileSync(path, 'theirs')],
    ['a link', 'd1/e/33', 'EEXIST', (path: string) => fs.symlinkSync('nowhere', path)],
    ['a link to a directory', 'd2/e', 'ENOTDIR', (path: string) => fs.symlinkSync('..', path)],
    ['a file for a directory', 'd3', 'ENOTDIR', (path: string) => fs.writeFileSync(path, 'theirs')],
  ])('%s in the way is not replaced', async (_what, name, code, make) => {
    makePlainTree()
    const { lines } = await frozen()
    const into = join(root, 'into')
    fs.mkdirSync(join(into, name, '..'), { recursive: true })
    make(join(into, name))
    await expect(importFrozen(store, lines, into, how)).rejects.toMatchObject({ code })
    expect(fs.readdirSync(into).length).toBeLessThan(6)
  })

  test('a directory that is there is joined, whatever it was', async () => {
    makePlainTree()
    const { lines } = await frozen()
    const was = await described(volume())
    const into = join(root, 'into')
    fs.mkdirSync(join(into, 'd2/e'), { recursive: true })
    native()?.lsetxattr(join(into, 'd2'), 'user.colour', Buffer.from('blue'))
    fs.chmodSync(join(into, 'd2'), 0o300)
    fs.writeFileSync(join(into, 'd2/e/theirs'), 'theirs')
    expect(await importFrozen(store, lines, into, how)).toMatchObject({ files: 100 })
    fs.rmSync(join(into, 'd2/e/theirs'))
    const { atimeMs, mtimeMs } = fs.statSync(volume('d2/e'))
    fs.utimesSync(join(into, 'd2/e'), atimeMs / 1000, mtimeMs / 1000)
    const withoutTime = (told: string[]): string[] =>
      told.map((line) => (line.startsWith('d2/e d ') ? line.split(' ').with(5, '').join(' ') : line))
    expect(withoutTime(await described(into))).toEqual(withoutTime(was))
  })

  test('a part of a tree, and a list without its top, are made too', async () => {
    makePlainTree()
    const { lines } = await frozen()
    for (const [name, part, count] of [
      ['part', subtreeOf(lines, 'd3')?.lines ?? [], 20],
      ['file', subtreeOf(lines, 'd3/e/70')?.lines ?? [], 1],
      ['rest', lines.slice(1), 100],
    ] as const) {
      const into = join(root, name)
      fs.mkdirSync(into)
      expect(await importFrozen(store, part, into, how)).toMatchObject({
        files: count,
        bytes: count * 7 - (count === 100 ? 10 : 0),
      })
    }
    expect(fs.readFileSync(join(root, 'part/e/70'), 'utf8')).toBe('file 70')
    expect(fs.readFileSync(join(root, 'file/70'), 'utf8')).toBe('file 70')
    expect(fs.readFileSync(join(root, 'rest/d3/e/70'), 'utf8')).toBe('file 70')
    expect(subtreeOf(lines, 'd3/e/7')).toBeUndefined()
  })

  test('what was made is remembered, so that it is not read again', async () => {
    makePlainTree()
    const manifest = await frozen()
    const flush = async (): Promise<void> => {
      await store.flush()
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    await createFrom({ ...store, flush }, manifest, join(root, 'made'), how)
    const top = fs.openSync(join(root, 'made'), 'r')
    try {
      expect(readIndex(store.indexFile(top)).entries.size).toBe(manifest.lines.length)
    } finally {
      fs.closeSync(top)
    }
  })
})
