import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pathOfLine } from '../../drivers/storage/dir/store/entry.ts'
import { freeze } from '../../drivers/storage/dir/snapshot.ts'
import { readManifest } from '../../drivers/storage/dir/store/manifest.ts'
import { openStore } from '../../drivers/storage/dir/store/store.ts'
import { copyProgram, type HelperMade, makeWithHelper } from './helper.ts'
import { native } from '../syscalls/native.ts'

let root: string
const volume = (name = ''): string => join(root, 'volume', name)
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'aw-make-plain-'))
  for (const name of ['volume', 'snapshots', 'made']) fs.mkdirSync(join(root, name))
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

async function made(lines: readonly string[]): Promise<HelperMade | undefined> {
  const [objects, top] = [fs.openSync(join(root, 'objects'), 'r'), fs.openSync(join(root, 'made'), 'r')]
  try {
    const program = copyProgram() ?? 'none'
    return await makeWithHelper({ program, objects, top, lines, durable: true, lost: (path) => new Error(path) })
  } finally {
    fs.closeSync(objects)
    fs.closeSync(top)
  }
}

async function frozen(): Promise<readonly string[]> {
  await freeze(openStore(root), volume(), join(root, 'snapshots/s'))
  return readManifest(join(root, 'snapshots/s'))?.lines ?? []
}

test('what takes a decision is left, and so are the directories on the way there', async () => {
  for (const name of ['big', 'twins', 'sparse', 'attributes', 'pipe', 'plain/deeper']) {
    fs.mkdirSync(volume(name), { recursive: true })
    fs.writeFileSync(volume(`${name}/file`), name)
    fs.symlinkSync('nowhere', volume(`${name}/link`))
  }
  fs.writeFileSync(volume('big/one'), Buffer.alloc(1024 * 1024 + 1, 'x'))
  fs.linkSync(volume('twins/file'), volume('twins/twin'))
  fs.writeFileSync(volume('sparse/one'), Buffer.alloc(70_000))
  native()?.lsetxattr(volume('attributes'), 'user.colour', Buffer.from('blue'))
  execFileSync('mkfifo', [volume('pipe/one')])
  const lines = await frozen()
  const plain = await made(lines)
  const left = lines.filter((_, line) => plain?.printOf(line) === undefined).map(pathOfLine)
  const inside = ['big/one', 'pipe/one', 'sparse/one', 'twins/file', 'twins/twin']
  expect(left).toEqual(['.', 'attributes', 'big', 'pipe', 'sparse', 'twins', ...inside].toSorted())
  expect(plain).toMatchObject({ files: 5, bytes: 'bigsparseattributespipeplain/deeper'.length })
  expect(fs.readFileSync(join(root, 'made/plain/deeper/file'), 'utf8')).toBe('plain/deeper')
})

test.each([
  ['is empty', () => []],
  ['has no top', (lines: readonly string[]) => lines.slice(1)],
  ['is cut short', (lines: readonly string[]) => [...lines, 'file f 644']],
  ['has a name that ends too soon', (lines: readonly string[]) => [...lines, (lines[1] ?? '').replace('file', 'x%00')]],
])('a list that %s is refused, and nothing is made', async (_, wrong) => {
  fs.writeFileSync(volume('file'), 'content')
  const lines = await frozen()
  expect(await made(wrong(lines))).toBeUndefined()
  expect(fs.readdirSync(join(root, 'made'))).toEqual([])
})

test('no name leads out of the tree', async () => {
  fs.writeFileSync(volume('file'), 'content')
  const [top = '', file = ''] = await frozen()
  const plain = await made([
    top,
    file.replace('file', '../out'),
    top.replace('.', '..'),
    file.replace('file', '../../out'),
  ])
  expect([0, 1, 2, 3].map((line) => plain?.printOf(line))).toEqual([undefined, undefined, undefined, undefined])
  expect(fs.readdirSync(root)).not.toContain('out')
})
