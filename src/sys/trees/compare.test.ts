import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Change } from '../../domain/trees/diff.ts'
import { compareTrees } from './compare.ts'
import { native } from '../syscalls/native.ts'

let base: string
const old = (name = ''): string => join(base, 'old', name)
const now = (name = ''): string => join(base, 'now', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-compare-'))
  fs.mkdirSync(old())
  fs.mkdirSync(now())
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const told = (changes: readonly Change[]): string[] =>
  changes.map(({ change, path, from, what }) => [change, from && `${from} ->`, path, ...what].filter(Boolean).join(' '))
const compared = async (options: Parameters<typeof compareTrees>[2] = {}): Promise<string[]> =>
  told(await compareTrees(old(), now(), options))

const put = (content: string, ...paths: string[]): void => {
  for (const path of paths) fs.writeFileSync(path, content)
}

test('equal trees do not differ, whatever their times', async () => {
  for (const top of [old, now]) {
    fs.mkdirSync(top('a/b'), { recursive: true })
    put('same', top('a/b/c'), top('a-b'))
    fs.symlinkSync('nowhere', top('link'))
    execFileSync('mkfifo', [top('pipe')])
  }
  fs.utimesSync(now('a/b/c'), 1, 1)
  expect(await compared()).toEqual([])
})

test('every kind of difference, in the order of paths', async () => {
  put('1', old('added.not'), now('added.not'))
  put('new', now('added'))
  put('1', old('removed'))
  put('12', old('bytes'))
  put('21', now('bytes'))
  put('1', old('size'))
  put('22', now('size'))
  put('1', old('mode'), now('mode'), old('kind'))
  fs.chmodSync(now('mode'), 0o4755)
  fs.mkdirSync(now('kind'))
  fs.symlinkSync('one', old('target'))
  fs.symlinkSync('two', now('target'))
  put('1', old('noted'), now('noted'))
  native()?.lsetxattr(now('noted'), 'user.note', Buffer.from('x'))
  fs.mkdirSync(old('shut'), { mode: 0o700 })
  fs.mkdirSync(now('shut'), { mode: 0o755 })
  expect(await compared()).toEqual([
    'added added',
    'changed bytes content',
    'changed kind kind',
    'changed mode mode',
    'changed noted attributes',
    'removed removed',
    'changed shut mode',
    'changed size content',
    'changed target target',
  ])
})

test('paths are bytes, and ordered as such', async () => {
  const name = Buffer.from([0xff, 0x2f, 0xfe])
  fs.mkdirSync(Buffer.concat([Buffer.from(`${now()}/`), name.subarray(0, 1)]))
  fs.writeFileSync(Buffer.concat([Buffer.from(`${now()}/`), name]), '')
  fs.mkdirSync(now('a'))
  put('', now('a/b'), now('a-b'))
  expect(await compared()).toEqual(['added a', 'added a-b', 'added a/b', 'added \xff', 'added \xff/\xfe'])
})

test('what is excluded at the top counts on neither side, and does deeper down', async () => {
  fs.mkdirSync(old('.aw'))
  put('', now('.aw'))
  fs.mkdirSync(now('a'))
  put('', now('a/.aw'))
  expect(await compared({ exclude: ['.aw'] })).toEqual(['added a', 'added a/.aw'])
})

test('only given paths are looked at, and not what is below them', async () => {
  fs.mkdirSync(now('a/b'), { recursive: true })
  put('', now('a/b/c'), now('d'), old('e'))
  const only = new Set(['d', 'a/b', 'nowhere/at/all', 'e', 'd/below a file'])
  expect(await compared({ only })).toEqual(['added a/b', 'added d', 'removed e'])
})

test('one of several names of a file that goes is no rename', async () => {
  put('content', old('stays'))
  fs.linkSync(old('stays'), old('first'))
  fs.linkSync(old('stays'), now('stays'))
  fs.linkSync(old('stays'), now('second'))
  expect(await compared({ identity: 'inode' })).toEqual(['removed first', 'added second'])
})

test('a file with the content of one that went was renamed, if it is the only one and has one name', async () => {
  put('moved', old('a'), now('b'))
  put('copied', old('c'), now('d'), now('e'))
  put('linked', old('f'), now('g'))
  fs.linkSync(now('g'), now('h'))
  put('', old('i'), now('j'))
  put('other', old('k'))
  const rest = [
    'removed c',
    'added d',
    'added e',
    'removed f',
    'added g',
    'added h',
    'removed i',
    'added j',
    'removed k',
  ]
  expect(await compared()).toEqual(['renamed a -> b', ...rest])
  expect(await compared({ renames: false })).toEqual(['removed a', 'added b', ...rest])
})

test('more than is soon read is not read to find a rename', async () => {
  put('small', old('a'), now('b'))
  put('x'.repeat(33 * 2 ** 20), old('c'), now('d'))
  expect(await compared()).toEqual(['renamed a -> b', 'removed c', 'added d'])
})

test('holes and bytes of zero are the same', async () => {
  put('start', old('sparse'), now('sparse'))
  fs.truncateSync(old('sparse'), 2 ** 40)
  fs.truncateSync(now('sparse'), 2 ** 40)
  expect(await compared()).toEqual([])
  const fd = fs.openSync(now('sparse'), 'r+')
  fs.writeSync(fd, '!', 2 ** 39)
  fs.closeSync(fd)
  expect(await compared()).toEqual(['changed sparse content'])
})

test('a link that is swapped in is never followed', async () => {
  fs.mkdirSync(join(base, 'secret'))
  put('', join(base, 'secret', 'inner'))
  fs.mkdirSync(now('dir'))
  const swapper = new Worker(
    `const { workerData: { dir, secret } } = require('node:worker_threads')
     const fs = require('node:fs')
     for (;;) {
       fs.rmdirSync(dir); fs.symlinkSync(secret, dir)
       fs.unlinkSync(dir); fs.mkdirSync(dir)
     }`,
    { eval: true, workerData: { dir: now('dir'), secret: join(base, 'secret') } },
  )
  const seen = new Set<string>()
  try {
    for (let round = 0; round < 3000 && seen.size < 2; round++) {
      for (const change of await compareTrees(old(), now())) {
        expect(change.path).toBe('dir')
        seen.add(change.after?.kind ?? '')
      }
    }
  } finally {
    await swapper.terminate()
  }
  expect([...seen].toSorted()).toEqual(['directory', 'symlink'])
})

// Only root may mount.
test.each(process.getuid?.() === 0 ? ['mount'] : [])(
  'a %s is not crossed, and what it hides not taken for removed',
  async () => {
    for (const side of [old, now]) fs.mkdirSync(side('here'))
    fs.mkdirSync(old('here/in'))
    fs.chmodSync(old('here'), 0o700)
    fs.mkdirSync(join(base, 'elsewhere'))
    put('', join(base, 'elsewhere', 'file'))
    execFileSync('mount', ['--bind', join(base, 'elsewhere'), now('here')])
    try {
      expect(await compared()).toEqual([])
    } finally {
      execFileSync('umount', [now('here')])
    }
  },
)

test('a comparison is given up when its caller has gone', async () => {
  put('', now('a'))
  await expect(compareTrees(old(), now(), { signal: AbortSignal.abort() })).rejects.toThrow(
    expect.objectContaining({ code: 'aborted' }),
  )
})

test('a large file that differs is no reason to keep others waiting, and is not read to its end', async () => {
  const large = Buffer.alloc(64 * 2 ** 20, 'x')
  fs.writeFileSync(old('large'), large)
  large[0] = 0
  fs.writeFileSync(now('large'), large)
  fs.chmodSync(now('large'), 0o600)
  const before = process.resourceUsage()
  expect(await compared()).toEqual(['changed large content mode'])
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  const started = process.cpuUsage()
  hash('sha256', large)
  const hashing = process.cpuUsage(started)
  // Far less than to hash either of them.
  expect(userCPUTime + systemCPUTime - before.userCPUTime - before.systemCPUTime).toBeLessThan(
    hashing.user + hashing.system,
  )
})
