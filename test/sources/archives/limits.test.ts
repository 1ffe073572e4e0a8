/** What an archive may cost is counted while it is read. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { tarArchives } from '../../../src/drivers/archives/tar.ts'
import { verifyArchive } from '../../../src/drivers/archives/archive/inspect.ts'
import { unpackArchive } from '../../../src/drivers/archives/archive/unpack.ts'
import { newPlace, type Place } from './fixture.ts'
import { directory, entry, file, tarOf } from './tar.ts'

let place: Place
beforeEach(() => {
  place = newPlace()
})
afterEach(() => place[Symbol.dispose]())

const over = (limit: string): object => ({ code: 'limit_reached', data: { limit } })

it('a million entries', async () => {
  const path = join(place.base, 'archive')
  fs.writeFileSync(path, zstdCompressSync(Buffer.alloc(512 * 1_000_001, directory('d'))))
  const counting = verifyArchive(path, { limits: { entries: 1_000_000, ratio: Infinity } })
  await expect(counting).rejects.toMatchObject(over('entries'))
})

const zeros = 100 * 1024 * 1024

it.each([
  ['gzip', gzipSync(tarOf(entry({ name: 'zeros', content: Buffer.alloc(zeros) })))],
  ['zstd', zstdCompressSync(tarOf(entry({ name: 'zeros', content: Buffer.alloc(zeros) })))],
] as const)('a bomb, with %s: it is noticed before it has gone off, and tar unpacks all of it', async (_, archive) => {
  const path = join(place.base, 'archive')
  const into = join(place.base, 'into-here')
  fs.writeFileSync(path, archive)
  fs.mkdirSync(into)
  await expect(unpackArchive(path, into, { trusted: false })).rejects.toMatchObject(over('ratio'))
  expect(fs.statSync(join(into, 'zeros')).size).toBeLessThan(0.8 * zeros)
  const { tree } = place.plainTar(archive)
  expect(tree['zeros']).toContain(`${zeros} bytes`)
})

it('one that fits into a quarter of the room is no bomb', async () => {
  const path = join(place.base, 'archive')
  fs.writeFileSync(path, zstdCompressSync(tarOf(entry({ name: 'zeros', content: Buffer.alloc(zeros) }))))
  const digest = await tarArchives.digest(path)
  const unpack = (name: string, maxBytes: number) => {
    fs.mkdirSync(join(place.base, name))
    return tarArchives.unpack(path, join(place.base, name), { digest, maxBytes })
  }
  await expect(unpack('little-room', 3.9 * zeros)).rejects.toMatchObject(over('ratio'))
  expect(await unpack('much-room', 4.1 * zeros)).toMatchObject({ bytes: zeros })
})

it('what is trusted may be nothing but zeros, and as deep as it likes', async () => {
  const archive = zstdCompressSync(tarOf(entry({ name: 'zeros', content: Buffer.alloc(zeros) })))
  const { bytes } = await place.unpack(archive, { trusted: true })
  expect(bytes).toBe(zeros)
  const deep = tarOf(entry({ name: 'x', pax: { path: `${'d/'.repeat(1100)}x` } }))
  const refusal = { ...over('depth'), hint: expect.stringContaining('aw import --trust') as string }
  await expect(place.unpack(deep)).rejects.toMatchObject(refusal)
  expect(await place.unpack(deep, { trusted: true })).toMatchObject({ files: 1 })
})

it('a file that says it is larger than may be is not begun', async () => {
  const path = join(place.base, 'archive')
  const into = join(place.base, 'into-here')
  fs.mkdirSync(into)
  fs.writeFileSync(path, tarOf(file('a', 'x'.repeat(600)), file('b', 'y'.repeat(600))))
  const unpacking = unpackArchive(path, into, { trusted: false, limits: { bytes: 1000 } })
  await expect(unpacking).rejects.toMatchObject(over('bytes'))
  expect(fs.readdirSync(into)).toEqual(['a'])
})

it.each([
  ['pathBytes', { pathBytes: 10 }, file('12345678901')],
  ['depth', { depth: 3 }, file('a/b/c/d')],
  ['entries', { entries: 0 }, file('a')],
  ['extendedBytes', {}, entry({ name: 'x', type: 'x', size: 5 * 1024 ** 2 })],
  ['padding', { ratio: Infinity }, Buffer.alloc(17 * 1024 ** 2)],
] as const)('%s', async (limit, limits, bytes) => {
  await expect(place.unpack(tarOf(bytes), { limits })).rejects.toMatchObject(over(limit))
})

it('a name that no file can have', async () => {
  const archive = tarOf(entry({ name: 'x', pax: { path: 'n'.repeat(256) } }))
  await expect(place.unpack(archive)).rejects.toMatchObject({ code: 'source_failed', data: { reason: 'path' } })
})

it('a window that needs gigabytes of memory', async () => {
  const path = join(place.base, 'archive')
  const tar = join(place.base, 'archive.tar')
  fs.writeFileSync(tar, tarOf(file('x')))
  // From a pipe: then it does not know that less would do.
  execFileSync('sh', ['-c', 'cat "$1" | zstd -q --ultra -22 --long=31 -o "$2"', 'sh', tar, path])
  fs.rmSync(tar)
  const unpacking = place.unpack(fs.readFileSync(path))
  await expect(unpacking).rejects.toMatchObject({ code: 'source_failed', data: { reason: 'compression' } })
  expect(place.plainTar(fs.readFileSync(path)).status).toBe(2)
})

it('compressed data in pieces is read whole, with what does not belong to it between them', async () => {
  const [one, two] = [tarOf(file('one', 'x'.repeat(2000)), file('two')).subarray(0, 700), 700] as const
  const rest = tarOf(file('one', 'x'.repeat(2000)), file('two')).subarray(two)
  const comment = Buffer.concat([Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0]), Buffer.from('note')])
  const params = { [constants.ZSTD_c_checksumFlag]: 1 }
  const archive = [comment, zstdCompressSync(one, { params }), comment, zstdCompressSync(rest, { params }), comment]
  expect((await place.unpack(Buffer.concat(archive))).tree).toMatchObject({ two: 'two' })
  const gzipped = Buffer.concat([gzipSync(one), gzipSync(rest)])
  expect((await place.unpack(gzipped)).tree).toMatchObject({ two: 'two' })
})

it.each([
  ['zstd', Buffer.concat([zstdCompressSync(tarOf(file('x'))), Buffer.from('something else')]), 'trailing'],
  ['gzip', Buffer.concat([gzipSync(tarOf(file('x'))), Buffer.from('something else')]), 'compression'],
  ['zstd that is cut', zstdCompressSync(tarOf(file('x'))).subarray(0, -3), 'truncated'],
  ['gzip that is cut', gzipSync(tarOf(file('x'))).subarray(0, -3), 'truncated'],
  ['a zip file', Buffer.from('PK\x03\x04 and so on'), 'not_an_archive'],
  ['nothing', Buffer.alloc(0), 'not_an_archive'],
  ['text', Buffer.alloc(2000, 'text '), 'not_an_archive'],
] as const)('what is no archive, or more than one: %s', async (_, archive, reason) => {
  await expect(place.unpack(archive)).rejects.toMatchObject({ code: 'source_failed', data: { reason } })
})
