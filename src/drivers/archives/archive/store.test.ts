import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { archiveExists, discardArchive, prepareArchiveDirectory, removeStoredArchive, storeArchive } from './store.ts'
import { verifyArchive } from './inspect.ts'

let base: string
let tree: string
let path: string
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-shelf-'))
  tree = join(base, 'tree')
  path = join(base, 'shelf/made/a.aw.tar.zst')
  fs.mkdirSync(join(base, 'shelf/made'), { recursive: true, mode: 0o700 })
  fs.mkdirSync(join(tree, 'deep'), { recursive: true })
  fs.writeFileSync(join(tree, 'deep/file'), 'content')
  fs.symlinkSync('/etc/passwd', join(tree, 'link'))
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const options = { stage: 'op_1', about: { name: 'a/main' } }
const namesIn = (directory: string): string[] => fs.readdirSync(directory).toSorted()

it('makes a file for its owner alone that verifies, and nothing beside it', async () => {
  const made = await storeArchive(tree, path, options)
  expect(namesIn(join(base, 'shelf/made'))).toEqual(['a.aw.tar.zst'])
  const { size, mode } = fs.statSync(path)
  expect([size, mode & 0o777]).toEqual([made.bytes, 0o600])
  expect(await verifyArchive(path)).toMatchObject({ verified: true, header: { name: 'a/main' } })
  expect(await removeStoredArchive(path, made)).toBe('removed')
  expect(await removeStoredArchive(path, made)).toBe('absent')
  fs.rmdirSync(join(base, 'shelf/made'))
  expect(await removeStoredArchive(path, made)).toBe('unreachable')
})

it.each([
  ['deep', () => fs.mkdirSync(join(tree, 'd/'.repeat(1100)), { recursive: true })],
  ['all the same', () => fs.writeFileSync(join(tree, 'log'), Buffer.alloc(70 * 1024 ** 2, 'INFO request served\n'))],
] as const)('packs a tree that is %s, though nobody else may give us such an archive', async (_, fill) => {
  fill()
  await storeArchive(tree, path, options)
  await expect(verifyArchive(path)).rejects.toMatchObject({ code: 'limit_reached' })
})

it('replaces nothing, and leaves nothing when it fails', async () => {
  fs.mkdirSync(join(base, 'shelf/made'), { recursive: true })
  fs.writeFileSync(path, 'of somebody else')
  await expect(storeArchive(tree, path, options)).rejects.toMatchObject({ code: 'file_exists' })
  await expect(storeArchive(join(base, 'missing'), `${path}.2`, options)).rejects.toThrow(/ENOENT/)
  const stop = AbortSignal.abort()
  await expect(storeArchive(tree, `${path}.3`, { ...options, signal: stop })).rejects.toMatchObject({ code: 'aborted' })
  expect(namesIn(join(base, 'shelf/made'))).toEqual(['a.aw.tar.zst'])
  expect(fs.readFileSync(path, 'utf8')).toBe('of somebody else')
})

it('makes its directory, and none above it', () => {
  const directory = join(base, 'shelf/next')
  prepareArchiveDirectory(directory, { used: false })
  expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
  prepareArchiveDirectory(directory, { used: true })
  expect(() => prepareArchiveDirectory(join(base, 'away/archives'), { used: false })).toThrow(
    expect.objectContaining({
      code: 'file_not_found',
      message: `The archive directory ${base}/away/archives cannot be made: there is no ${base}/away`,
      hint: `If it is on a disk that is not mounted, mount it; else make it: mkdir -p ${base}/away/archives`,
    }),
  )
  expect(fs.existsSync(join(base, 'away'))).toBe(false)
})

it('does not make a directory anew that held archives', () => {
  const directory = join(base, 'shelf/gone')
  expect(() => prepareArchiveDirectory(directory, { used: true })).toThrow(
    expect.objectContaining({
      code: 'file_not_found',
      message: `The archive directory ${directory} is missing, though archives were written to it`,
      hint: `If its disk is not mounted, mount it; if the archives are gone for good, make it: mkdir -p ${directory}`,
    }),
  )
  expect(fs.existsSync(directory)).toBe(false)
})

it('says which directory cannot be made', () => {
  expect(() => prepareArchiveDirectory('/proc/nope', { used: false })).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('The directory for archives cannot be made') as string,
      hint: expect.stringContaining('archive.directory') as string,
    }),
  )
})

it.each([
  ['a file', (at: string) => fs.writeFileSync(at, '')],
  ['a link that leads nowhere', (at: string) => fs.symlinkSync(join(base, 'nowhere'), at)],
])('says that it cannot write to a directory that is %s, and what is undone is nothing', async (_, make) => {
  fs.rmdirSync(join(base, 'shelf/made'))
  make(join(base, 'shelf/made'))
  expect(archiveExists(path)).toBe(false)
  await expect(storeArchive(tree, path, options)).rejects.toMatchObject({
    message: expect.stringContaining('The directory for archives cannot be written to') as string,
    hint: expect.stringContaining('archive.directory') as string,
  })
  discardArchive(path, options.stage)
  expect(namesIn(join(base, 'shelf'))).toEqual(['made'])
})

it('does not take for removed what is where it cannot look now', async () => {
  const [shelf, disk] = [join(base, 'shelf/made'), join(base, 'disk')]
  fs.mkdirSync(disk, { mode: 0o700 })
  fs.rmdirSync(shelf)
  fs.symlinkSync(disk, shelf)
  const made = await storeArchive(tree, path, options)
  fs.renameSync(disk, `${disk}-away`)
  expect(() => prepareArchiveDirectory(shelf, { used: true })).toThrow('though archives were written to it')
  expect(await removeStoredArchive(path, made)).toBe('unreachable')
  fs.writeFileSync(disk, '')
  expect(await removeStoredArchive(path, made)).toBe('unreachable')
  fs.rmSync(disk)
  fs.renameSync(`${disk}-away`, disk)
  expect(await removeStoredArchive(path, made)).toBe('removed')
})

it('writes to no directory that others can change', async () => {
  fs.mkdirSync(join(base, 'shelf/made'), { recursive: true })
  fs.chmodSync(join(base, 'shelf/made'), 0o777)
  await expect(storeArchive(tree, path, options)).rejects.toMatchObject({ code: 'home_owner_mismatch' })
  expect(namesIn(join(base, 'shelf/made'))).toEqual([])
})

it('removes only what is still what was made', async () => {
  const made = await storeArchive(tree, path, options)
  const bytes = fs.readFileSync(path)
  bytes[20] = (bytes[20] ?? 0) ^ 1
  fs.writeFileSync(path, bytes)
  expect(await removeStoredArchive(path, made)).toBe('changed')
  fs.rmSync(path)
  fs.symlinkSync('/etc/passwd', path)
  expect(await removeStoredArchive(path, made)).toBe('changed')
  fs.rmSync(path)
  fs.mkdirSync(path)
  expect(await removeStoredArchive(path, made)).toBe('changed')
  expect(archiveExists(path)).toBe(true)
})

it('undoes what a dead process had come to, wherever that was', async () => {
  discardArchive(path, 'op_1')
  await storeArchive(tree, path, options)
  const stage = join(base, 'shelf/made/.aw-op_1')
  fs.mkdirSync(stage)
  fs.writeFileSync(join(stage, '.aw-1234.tmp'), 'half')
  fs.writeFileSync(join(base, 'shelf/made/other'), 'of somebody else')
  discardArchive(path, 'op_1')
  discardArchive(path, 'op_1')
  expect(namesIn(join(base, 'shelf/made'))).toEqual(['other'])
})
