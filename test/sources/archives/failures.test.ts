/** Killed at any step, or on a full disk: an archive is there and whole, or it is not there. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { isTemporaryName } from '../../../src/domain/paths.ts'
import { verifyArchive } from '../../../src/drivers/archives/archive/inspect.ts'
import { isRoot } from '../../contracts/storage/host.ts'
import { makeTree, readTree } from '../../support/tree.ts'

const program = fileURLToPath(new URL('../../support/programs/pack-tree.ts', import.meta.url))

let base: string
let tree: string
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-failures-'))
  tree = join(base, 'tree')
  fs.mkdirSync(tree)
  makeTree(tree, { d: { kind: 'directory' }, 'd/f': { kind: 'file', content: 'x', mode: 0o644 } })
})
afterEach(() => fs.rmSync(base, { recursive: true }))

it('killed before any step, it leaves no archive or a whole one, and can be done again', async () => {
  const before = readTree(tree, { times: true })
  const files = join(base, 'files')
  fs.mkdirSync(files)
  let crashes = 0
  for (;;) {
    const file = join(files, 'a.aw')
    const env = { ...process.env, AW_CRASH_AT: String(crashes + 1) }
    const { signal, stdout } = spawnSync(process.execPath, [program, 'pack', tree, file], { env, encoding: 'utf8' })
    const left = fs.readdirSync(files)
    expect(left.filter((name) => name !== 'a.aw' && !isTemporaryName(name))).toEqual([])
    expect(readTree(tree, { times: true })).toEqual(before)
    if (left.includes('a.aw')) expect(await verifyArchive(file)).toMatchObject({ verified: true, entries: 3 })
    if (signal === null) {
      expect(stdout).toBe('done\n')
      break
    }
    for (const name of left) fs.rmSync(join(files, name))
    crashes += 1
  }
  expect(crashes).toBeGreaterThan(4)
})

/** In a file system of one megabyte, in a namespace of its own: it goes with the program. */
const onSmallDisk = (...words: string[]): string => {
  const small = join(base, 'small')
  fs.mkdirSync(small)
  const script = `mount -t tmpfs -o size=1m none "$1" && mkdir "$1/d" && shift && "$@"; ls -A "${small}" "${small}/d"`
  return spawnSync('unshare', ['--mount', 'sh', '-c', script, 'sh', small, process.execPath, program, ...words], {
    encoding: 'utf8',
  }).stdout
}

it.each(isRoot ? ['pack', 'unpack'] : [])('%s on a full disk says so', async (what) => {
  const random = Buffer.alloc(3 * 1024 * 1024)
  for (let at = 0; at < random.length; at += 4) random.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at)
  fs.writeFileSync(join(tree, 'large'), random)
  const small = join(base, 'small')
  if (what === 'pack') {
    // Nothing but the directory is there afterwards.
    expect(onSmallDisk('pack', tree, join(small, 'a.aw'))).toBe(`disk_full\n${small}:\nd\n\n${small}/d:\n`)
    return
  }
  const file = join(base, 'a.aw')
  spawnSync(process.execPath, [program, 'pack', tree, file])
  expect(onSmallDisk('unpack', file, join(small, 'd'))).toMatch(/^disk_full\n/)
})
