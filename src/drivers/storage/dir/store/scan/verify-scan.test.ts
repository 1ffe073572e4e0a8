import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runToCompletion } from '../../../../../sys/safe-fs/coroutine.ts'
import { hashSteps } from '../../../../../sys/trees/content-hash.ts'
import type { ScanOptions } from './changed-entries.ts'
import { isUnchanged, recentlyChanged, rereadMatches } from './verify-scan.ts'
import { scanTree } from './scan.ts'
import type { KnownEntry } from './stat-index.ts'

/** What the kernel tells in one tick of its clock is the same: here as if it always were. */

let base: string
let top: number
const at = (name: string): string => join(base, name)

beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-proof-'))
  top = fs.openSync(base, 'r')
  fs.mkdirSync(at('d/e'), { recursive: true })
  for (const name of ['file', 'd/file', 'd/e/file', 'excluded']) fs.writeFileSync(at(name), 'before')
})
afterEach(() => {
  fs.closeSync(top)
  fs.rmSync(base, { recursive: true, force: true })
})

function options(more: Partial<ScanOptions> = {}): ScanOptions {
  function* read(fd: number): ReturnType<ScanOptions['read']> {
    const { hash, bytes } = yield* hashSteps(fd)
    return { content: hash, bytes }
  }
  return { known: () => new Map(), flushedAt: 0, writeOut: false, exclude: ['excluded'], read, ...more }
}

const scanned = async (): Promise<Map<string, KnownEntry>> => new Map((await scanTree(top, options())).entries)

/** What was told before, with what the kernel tells now. */
async function asIfTold(before: ReadonlyMap<string, KnownEntry>): Promise<Map<string, KnownEntry>> {
  const now = await scanned()
  return new Map([...before].map(([path, { line, print }]) => [path, { line, print: now.get(path)?.print ?? print }]))
}

const again = (entries: ReadonlyMap<string, KnownEntry>, paths = [...entries.keys()]): boolean =>
  runToCompletion(rereadMatches(top, entries, paths, options()))

test('what did not change is the same when it is read again', async () => {
  const entries = await scanned()
  expect(again(entries)).toBe(true)
  expect(runToCompletion(isUnchanged(top, entries))).toBe(true)
})

test.each<[string, string, () => void]>([
  ['a file has another content', 'd/file', () => fs.writeFileSync(at('d/file'), 'AFTER!')],
  ['there is a name more', 'd/e', () => fs.writeFileSync(at('d/e/more'), '')],
  ['there is a name more at the top', '.', () => fs.writeFileSync(at('more'), '')],
  ['there is a name less', 'd', () => fs.unlinkSync(at('d/file'))],
  ['there is another name', 'd', () => fs.renameSync(at('d/file'), at('d/other'))],
])('%s, and the kernel tells the same', async (_, path, change) => {
  const before = await scanned()
  change()
  const entries = await asIfTold(before)
  // Lines tell of times, which a change in the same tick does not move.
  const now = (await scanned()).get(path)
  const line = path === 'd/file' ? before.get(path)?.line : now?.line
  if (line !== undefined && entries.has(path)) entries.set(path, { line, print: now?.print ?? '' })
  expect(again(entries, [path])).toBe(false)
})

test('what is gone, or something else now, is not the same', async () => {
  const entries = await scanned()
  fs.rmSync(at('d/e'), { recursive: true })
  expect(again(entries, ['d/e/file'])).toBe(false)
  fs.symlinkSync('/', at('d/e'))
  expect(again(entries, ['d/e'])).toBe(false)
})

test('what was changed a moment ago is what is not clearly older than the flush', async () => {
  const entries = await scanned()
  const { ctimeMs } = fs.statSync(at('excluded'))
  expect(recentlyChanged(entries, { flushedAt: ctimeMs + 1000 })).toEqual([])
  expect(recentlyChanged(entries, { flushedAt: ctimeMs })).toEqual([...entries.keys()])
  fs.chmodSync(at('d/file'), 0)
  const { ctimeMs: locked } = fs.statSync(at('d/file'))
  expect(recentlyChanged(await scanned(), { flushedAt: locked })).toBeUndefined()
  entries.set('file', { line: '', print: '' })
  expect(recentlyChanged(entries, { flushedAt: ctimeMs + 1000 })).toBeUndefined()
})
