/** An archive of ours is what was written, or it is refused: whatever byte is changed, cut off or added. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { formatHeader } from '../../../src/domain/archive/header.ts'
import { verifyArchive } from '../../../src/drivers/archives/archive/inspect.ts'
import { packTree } from '../../../src/drivers/archives/archive/pack.ts'
import { unpackArchive } from '../../../src/drivers/archives/archive/unpack.ts'
import { makeTree } from '../../support/tree.ts'
import { entry, file as fileEntry, tarOf } from './tar.ts'

let base: string
let sealed: Buffer
let tar: Buffer
let digest: string

beforeAll(async () => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-integrity-'))
  const tree = join(base, 'tree')
  fs.mkdirSync(tree)
  makeTree(tree, {
    d: { kind: 'directory', mode: 0o750 },
    'd/f': { kind: 'file', content: 'some text '.repeat(300) },
    'd/g': { kind: 'hardlink', to: 'd/f' },
    empty: { kind: 'file', content: '' },
    l: { kind: 'symlink', target: 'd/f' },
    ['long\xff'.repeat(50)]: { kind: 'file', content: 'x' },
  })
  fs.writeFileSync(join(tree, 'holes'), 'end')
  fs.truncateSync(join(tree, 'holes'), 1024 * 1024)
  const file = join(base, 'a.aw')
  digest = (await packTree(tree, file, { header: { made: 'here' } })).digest
  sealed = fs.readFileSync(file)
  tar = execFileSync('zstd', ['-dc', file])
})

afterAll(() => fs.rmSync(base, { recursive: true }))

async function problemOf(bytes: Buffer): Promise<unknown> {
  const file = join(base, 'changed')
  fs.writeFileSync(file, bytes)
  try {
    await verifyArchive(file)
    return undefined
  } catch (error) {
    return error
  }
}

const damaged = { code: 'source_failed' }

it('is whole', async () => {
  expect(await problemOf(sealed)).toBeUndefined()
  expect(await verifyArchive(join(base, 'a.aw'))).toMatchObject({ verified: true, digest, entries: 8 })
})

it('every bit counts, of the first and the last bytes', async () => {
  const places = [...Array(24).keys(), ...[...Array(56).keys()].map((at) => sealed.length - 1 - at)]
  for (const at of places) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at)
      expect([at, bit, await problemOf(changed)]).toEqual([at, bit, expect.objectContaining(damaged)])
    }
  }
})

it('every changed byte in between is noticed', async () => {
  for (let at = 24; at < sealed.length - 56; at += 3) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at)
    expect([at, await problemOf(changed)]).toEqual([at, expect.objectContaining(damaged)])
  }
})

it('so it is in the tar file alone, without compression and seal', async () => {
  for (let at = 0; at < tar.length; at += 7) {
    // The sum of a header can be written in more than one way.
    if (at % 512 >= 148 && at % 512 < 156) continue
    const changed = Buffer.from(tar)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at)
    expect([at, await problemOf(changed)]).toEqual([at, expect.objectContaining(damaged)])
  }
})

it('cannot be cut, at no byte', async () => {
  for (let length = 0; length < sealed.length; length += 5)
    expect([length, await problemOf(sealed.subarray(0, length))]).toEqual([length, expect.objectContaining(damaged)])
})

it('nor can the tar file, at no block; plain tar takes some of them for whole', async () => {
  let accepted = 0
  for (let length = 512; length < tar.length; length += 512) {
    expect([length, await problemOf(tar.subarray(0, length))]).toEqual([length, expect.objectContaining(damaged)])
    if (tarAccepts(join(base, 'changed'))) accepted += 1
  }
  expect(accepted).toBeGreaterThan(3)
})

function tarAccepts(file: string): boolean {
  try {
    execFileSync('tar', ['-tf', file], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

it.each([
  ['a byte behind it', () => Buffer.concat([sealed, Buffer.from('x')])],
  ['zeros behind it', () => Buffer.concat([sealed, Buffer.alloc(512)])],
  ['it twice', () => Buffer.concat([sealed, sealed])],
  ['another one before it', () => Buffer.concat([zstdCompressSync(tarOf(fileEntry('x'))), sealed])],
  ['packed once more without a seal', () => zstdCompressSync(tar)],
  [
    'something behind its manifest',
    () => Buffer.concat([tar.subarray(0, -1024), fileEntry('late'), Buffer.alloc(1024)]),
  ],
  ['more zeros than it has', () => Buffer.concat([tar, Buffer.alloc(512)])],
  ['no manifest', () => tarOf(entry({ name: '.aw-archive/header.json', content: formatHeader({}) }), fileEntry('x'))],
  ['a header of a newer format', () => tarOf(entry({ name: '.aw-archive/header.json', content: newer }))],
  ['a header that is none', () => tarOf(entry({ name: '.aw-archive/header.json', content: '{}' }))],
] as const)('is refused with %s', async (_, change) => {
  expect(await problemOf(change())).toMatchObject(damaged)
})

const newer = JSON.stringify({ format: 'aw-archive', version: 2 })

it('the path that was changed is told', async () => {
  const at = tar.indexOf('some text ')
  const changed = Buffer.from(tar)
  changed.write('SOME', at)
  expect(await problemOf(changed)).toMatchObject({ data: { reason: 'manifest', path: 'd/f' } })
})

it('unpacked and packed otherwise it is still compared with its manifest', async () => {
  for (const bytes of [tar, gzipSync(tar), zstdDecompressSync(sealed)]) expect(await problemOf(bytes)).toBeUndefined()
  expect(await verifyArchive(join(base, 'changed'))).toMatchObject({ verified: true, digest })
})

it('what was unpacked and packed by tar is an archive like any other', async () => {
  const [unpacked, again, copy] = ['unpacked', 'again.tar', 'copy'].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ]
  for (const directory of [unpacked, copy]) fs.mkdirSync(directory)
  execFileSync('tar', ['--zstd', '-xf', join(base, 'a.aw'), '-C', unpacked])
  execFileSync('tar', ['-cf', again, '-C', unpacked, '.'])
  expect(await unpackArchive(again, copy, { trusted: false })).toMatchObject({ verified: false, header: null })
  expect(fs.existsSync(join(copy, '.aw-archive', 'manifest'))).toBe(true)
})
