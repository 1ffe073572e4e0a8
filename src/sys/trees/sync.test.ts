import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { hostFs } from '../fs/host-fs.ts'
import * as native from '../syscalls/native.ts'
import { syncTree } from '../../drivers/storage/root/root.ts'

vi.mock('../syscalls/native.ts', { spy: true })

let base: string
const tree = (name = ''): string => join(base, 'tree', name)
beforeEach(() => {
  base = fs.mkdtempSync(join(tmpdir(), 'aw-sync-'))
  fs.mkdirSync(tree())
  vi.mocked(native.native).mockReturnValue(undefined)
})
afterEach(() => {
  vi.restoreAllMocks()
  fs.rmSync(base, { recursive: true, force: true })
})

test('without system calls every file and directory of a tree is made durable, and nothing else', async () => {
  fs.mkdirSync(tree('a/b/empty'), { recursive: true })
  for (const name of ['top', 'a/file', 'a/b/file']) fs.writeFileSync(tree(name), name)
  for (let count = 0; count < 100; count++) fs.writeFileSync(tree(`a/b/${count}`), '')
  fs.writeFileSync(join(base, 'outside'), '')
  fs.symlinkSync(join(base, 'outside'), tree('a/link'))
  fs.symlinkSync(base, tree('a/directory link'))
  execFileSync('mkfifo', [tree('a/pipe')])
  const synced: string[] = []
  const note = (fd: number): void => void synced.push(fs.readlinkSync(`/proc/self/fd/${fd}`).slice(tree().length + 1))
  vi.spyOn(hostFs, 'fsync').mockImplementation(async (fd) => note(fd))
  await syncTree(tree())
  const many = Array.from({ length: 100 }, (_, index) => `a/b/${index}`)
  const expected = ['', 'a', 'a/b', 'a/b/empty', 'top', 'a/file', 'a/b/file', ...many]
  expect(synced.toSorted()).toEqual(expected.toSorted())
})

test('what its owner may not read is made durable too, and keeps its mode', () => {
  fs.chmodSync(base, 0o777)
  const program = `
    import * as fs from 'node:fs'
    import { syncFiles } from ${JSON.stringify(join(import.meta.dirname, 'sync.ts'))}
    import { hostFs } from ${JSON.stringify(join(import.meta.dirname, '../fs/host-fs.ts'))}
    const top = ${JSON.stringify(join(base, 'shut'))}
    fs.mkdirSync(top + '/in', { recursive: true })
    fs.writeFileSync(top + '/in/file', '')
    for (const name of ['/in/file', '/in', '']) fs.chmodSync(top + name, 0)
    let synced = 0
    hostFs.fsync = async () => void synced++
    await syncFiles(top)
    const modes = ['', '/in', '/in/file'].map((name) => {
      const { mode } = fs.statSync(top + name)
      fs.chmodSync(top + name, 0o700)
      return mode & 0o777
    })
    console.log(JSON.stringify({ synced, modes }))`
  const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
  const node = [process.execPath, '--input-type=module-typescript', '-e', program]
  const [command = '', ...args] = process.getuid?.() === 0 ? [...user, ...node] : node
  expect(JSON.parse(execFileSync(command, args, { encoding: 'utf8' }))).toEqual({ synced: 3, modes: [0, 0, 0] })
})
