import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bytesOf, makeTree, readTree, type Tree } from '../../../../test/support/tree.ts'
import { inspectArchive, verifyArchive } from './inspect.ts'
import { packTree } from './pack.ts'
import { unpackArchive } from './unpack.ts'

let base: string
let tree: string
let file: string
let copy: string

beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-pack-'))
  ;[tree, file, copy] = ['tree', 'a.aw', 'copy'].map((name) => join(base, name)) as [string, string, string]
  for (const directory of [tree, copy]) fs.mkdirSync(directory)
})
afterEach(() => fs.rmSync(base, { recursive: true }))

const sample: Tree = {
  d: { kind: 'directory', mode: 0o750, mtime: 1_500_000_000.5 },
  'd/f': { kind: 'file', content: 'some text', mode: 0o640, mtime: -5.5 },
  'd/other name': { kind: 'hardlink', to: 'd/f' },
  empty: { kind: 'file', content: '', mode: 0o600, mtime: 12 },
  link: { kind: 'symlink', target: `../${'far/'.repeat(60)}away` },
  [bytesOf('ä')]: { kind: 'file', content: bytesOf('ö'), mode: 0o644, mtime: 13 },
  'not\xfftext': { kind: 'file', content: '\xff', mode: 0o644, mtime: 14 },
  [`long\xff${'n'.repeat(200)}`]: { kind: 'file', content: 'x', mode: 0o644, mtime: 15 },
  'new\nline and = sign': { kind: 'file', content: 'x', mode: 0o644, mtime: 16 },
  '-rf': { kind: 'file', content: 'x', mode: 0o644, mtime: 17 },
  pipe: { kind: 'fifo' },
}

const times = { times: true } as const

it('brings back what was packed', async () => {
  makeTree(tree, sample)
  const packed = await packTree(tree, file, { header: { made_by: 'a test', n: 1 } })
  expect(packed).toMatchObject({ entries: Object.keys(sample).length + 1, bytes: fs.statSync(file).size, skipped: [] })
  expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  const unpacked = await unpackArchive(file, copy, { trusted: true })
  expect(unpacked).toMatchObject({ verified: true, digest: packed.digest, skipped: [], reduced: [], files: 10 })
  expect(unpacked.header).toEqual({ format: 'aw-archive', version: 1, made_by: 'a test', n: 1 })
  expect(readTree(copy, times)).toEqual(readTree(tree, times))
  expect(fs.readdirSync(base).toSorted()).toEqual(['a.aw', 'copy', 'tree'])
})

it('is unpacked by plain tar too, holes, attributes and odd names included', async () => {
  makeTree(tree, sample)
  fs.writeFileSync(join(tree, 'attributes'), 'x')
  for (const name of ['user.a=b%', 'user.z'])
    execFileSync('setfattr', ['-n', name, '-v', 'v', join(tree, 'attributes')])
  const holes = fs.openSync(join(tree, 'd', 'holes'), 'w')
  fs.writeSync(holes, 'data', 3 * 1024 * 1024)
  fs.ftruncateSync(holes, 9 * 1024 * 1024)
  fs.closeSync(holes)
  await packTree(tree, file, { header: {} })
  const words = ['--zstd', '--xattrs', '--xattrs-include=*', '-xf', file, '-C', copy]
  execFileSync('tar', words, { stdio: ['ignore', 'ignore', 'ignore'] })
  expect(readTree(copy, { ...times, except: ['.aw-archive'] })).toEqual(readTree(tree, times))
  expect(fs.statSync(join(copy, 'd', 'holes')).blocks).toBeLessThan(1000)
  const attributes = execFileSync('getfattr', ['-d', join(copy, 'attributes')], { encoding: 'utf8', stdio: 'pipe' })
  expect(attributes).toContain('user.a\\075b%="v"')
  expect(fs.readdirSync(join(copy, '.aw-archive')).toSorted()).toEqual(['header.json', 'manifest'])
})

it('what plain tar packs is read, in each of its formats', async () => {
  makeTree(tree, { ...sample, 'd/holes': { kind: 'file', content: 'x', mode: 0o644, mtime: 1 } })
  for (const format of ['gnu', 'pax', 'ustar', 'v7', 'oldgnu']) {
    const words = ['link', 'long*', 'd/f', 'pipe'].map((name) => `--exclude=${name}`)
    const short = ['ustar', 'v7'].includes(format) ? words : []
    const into = join(copy, format)
    fs.mkdirSync(into)
    execFileSync('tar', ['-cf', file, `--format=${format}`, ...short, '-C', tree, '.'], { stdio: 'pipe' })
    expect(await unpackArchive(file, into, { trusted: true })).toMatchObject({ verified: false, header: null })
    const byTar = join(copy, `${format} by tar`)
    fs.mkdirSync(byTar)
    execFileSync('tar', ['-xf', file, '-C', byTar])
    expect(readTree(into, times)).toEqual(readTree(byTar, times))
  }
})

it.each([
  ['a directory', { '.aw-archive': { kind: 'directory' }, '.aw-archive/manifest': { kind: 'file', content: 'mine' } }],
  ['a file', { '.aw-archive': { kind: 'file', content: 'mine' }, '.aw-archive-1': { kind: 'file', content: 'also' } }],
  ['a link', { '.aw-archive': { kind: 'symlink', target: '/' } }],
] as const)('a tree that has the reserved name itself, as %s, comes back', async (_, content: Tree) => {
  makeTree(tree, content)
  await packTree(tree, file, { header: {} })
  expect(await unpackArchive(file, copy, { trusted: false })).toMatchObject({ verified: true })
  expect(readTree(copy)).toEqual(readTree(tree))
})

it('sockets are left out and reported', async () => {
  const server = createServer().listen(join(tree, 'socket'))
  try {
    await new Promise((resolve) => server.once('listening', resolve))
    const packed = await packTree(tree, file, { header: {} })
    expect(packed).toMatchObject({ entries: 1, skipped: [{ path: 'socket', reason: 'socket' }] })
  } finally {
    server.close()
  }
})

it('replaces nothing unless it is asked to, and then only a file', async () => {
  fs.writeFileSync(file, 'mine')
  await expect(packTree(tree, file, { header: {} })).rejects.toMatchObject({ code: 'file_exists' })
  expect(fs.readFileSync(file, 'utf8')).toBe('mine')
  await packTree(tree, file, { header: {}, replace: true })
  expect(await verifyArchive(file)).toMatchObject({ verified: true })
  const replacing = packTree(tree, copy, { header: {}, replace: true })
  const aDirectory = `There is a directory: ${copy}`
  await expect(replacing).rejects.toMatchObject({ code: 'not_a_file', message: aDirectory })
  const second = packTree(tree, file, { header: {} })
  await expect(second).rejects.toMatchObject({ hint: expect.stringContaining('--replace') as string })
  const inTheWay = packTree(tree, copy, { header: {} })
  await expect(inTheWay).rejects.toMatchObject({ code: 'file_exists', message: aDirectory })
  const nowhere = packTree(tree, join(base, 'no', 'a.aw'), { header: {} })
  await expect(nowhere).rejects.toMatchObject({ code: 'file_not_found' })
})

it('cancelled, it leaves nothing behind', async () => {
  fs.writeFileSync(join(tree, 'large'), Buffer.alloc(8 * 1024 * 1024, 'text '))
  const abort = new AbortController()
  const onProgress = (): void => abort.abort()
  const packing = packTree(tree, file, { header: {}, signal: abort.signal, onProgress })
  await expect(packing).rejects.toMatchObject({ code: 'aborted' })
  expect(fs.readdirSync(base).toSorted()).toEqual(['copy', 'tree'])
  await packTree(tree, file, { header: {} })
  const again = new AbortController()
  const stopping = { signal: again.signal, onProgress: () => again.abort() }
  await expect(unpackArchive(file, copy, { trusted: true, ...stopping })).rejects.toMatchObject({ code: 'aborted' })
})

it('a tree that is written to meanwhile is no archive', async () => {
  const large = join(tree, 'large')
  fs.writeFileSync(large, Buffer.alloc(8 * 1024 * 1024, 'text '))
  const onProgress = (): void => fs.appendFileSync(large, 'more')
  await expect(packTree(tree, file, { header: {}, onProgress })).rejects.toMatchObject({ code: 'source_failed' })
  expect(fs.existsSync(file)).toBe(false)
})

it('tells what is in an archive, the header first', async () => {
  makeTree(tree, sample)
  await packTree(tree, file, { header: { made_by: 'a test' } })
  const told: unknown[] = []
  for await (const one of inspectArchive(file)) told.push(one)
  expect(told).toHaveLength(Object.keys(sample).length + 2)
  expect(told[0]).toMatchObject({ header: { made_by: 'a test' } })
  const about = { path: 'd/other name', kind: 'hardlink', target: 'd/f' }
  expect(told.some((one) => isMatch(one, about))).toBe(true)
  for await (const one of inspectArchive(file)) if ('entry' in one) break
  expect(fs.readdirSync('/proc/self/fd', { withFileTypes: true }).filter(({ name }) => leadsTo(name, file))).toEqual([])
})

const isMatch = (one: unknown, about: Record<string, unknown>): boolean => {
  const { entry = {} } = one as { entry?: Record<string, unknown> }
  return Object.entries(about).every(([key, value]) => entry[key] === value)
}

const leadsTo = (fd: string, path: string): boolean => {
  try {
    return fs.readlinkSync(`/proc/self/fd/${fd}`) === path
  } catch {
    return false
  }
}

it('is read from an open descriptor, which stays open', async () => {
  makeTree(tree, sample)
  await packTree(tree, file, { header: {} })
  const fd = fs.openSync(file, 'r')
  fs.rmSync(file)
  expect(await unpackArchive(fd, copy, { trusted: true })).toMatchObject({ verified: true })
  expect(await verifyArchive(fd)).toMatchObject({ verified: true })
  fs.closeSync(fd)
})

it('a pipe or a directory is no archive, and is not waited for', async () => {
  execFileSync('mkfifo', [file])
  await expect(verifyArchive(file)).rejects.toMatchObject({ code: 'source_failed' })
  await expect(verifyArchive(tree)).rejects.toMatchObject({ code: 'source_failed' })
  await expect(verifyArchive(join(base, 'nothing'))).rejects.toMatchObject({ code: 'file_not_found' })
})

it('takes little memory, however large a file is', async () => {
  const large = fs.openSync(join(tree, 'large'), 'w')
  const block = Buffer.alloc(1024 * 1024)
  for (let at = 0; at < 300; at++) fs.writeSync(large, block.fill(`block ${at} `))
  fs.closeSync(large)
  let most = 0
  const before = process.memoryUsage().rss
  const onProgress = (): void => void (most = Math.max(most, process.memoryUsage().rss - before))
  await packTree(tree, file, { header: {}, onProgress })
  await unpackArchive(file, copy, { trusted: true, onProgress })
  expect(most).toBeLessThan(150 * 1024 * 1024)
})
