import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { hostFs } from './host-fs.ts'
import * as native from '../syscalls/native.ts'

let dir: string
beforeEach(() => void (dir = fs.mkdtempSync(join(tmpdir(), 'aw-host-'))))
afterEach(() => {
  vi.restoreAllMocks()
  fs.rmSync(dir, { recursive: true, force: true })
})

vi.mock('../syscalls/native.ts', { spy: true })

describe.each(['the system call', 'no system call'])('rename without replacing, with %s', (how) => {
  beforeEach(() => {
    if (how === 'no system call') vi.mocked(native.native).mockReturnValue(undefined)
  })

  test.each(['file', 'directory', 'link'])('a %s moves to a free name only', (kind) => {
    const [from, to] = [join(dir, 'from'), join(dir, 'to')]
    if (kind === 'file') fs.writeFileSync(from, 'content')
    if (kind === 'directory') fs.mkdirSync(from)
    if (kind === 'link') fs.symlinkSync('nowhere', from)
    fs.mkdirSync(to)
    expect(() => hostFs.renameNoReplaceSync(from, to)).toThrow(expect.objectContaining({ code: 'EEXIST' }))
    fs.rmdirSync(to)
    hostFs.renameNoReplaceSync(from, to)
    expect(fs.readdirSync(dir)).toEqual(['to'])
  })

  test('a missing source is ENOENT, a directory into itself EINVAL', () => {
    expect(() => hostFs.renameNoReplaceSync(join(dir, 'no'), join(dir, 'to'))).toThrow(
      expect.objectContaining({ code: 'ENOENT' }),
    )
    fs.mkdirSync(join(dir, 'd'))
    expect(() => hostFs.renameNoReplaceSync(join(dir, 'd'), join(dir, 'd/e'))).toThrow(
      expect.objectContaining({ code: 'EINVAL' }),
    )
  })
})

test('creating never opens what is there already', () => {
  const path = join(dir, 'file')
  fs.symlinkSync(join(dir, 'elsewhere'), path)
  expect(() => hostFs.createSync(path, 0o600)).toThrow(expect.objectContaining({ code: 'EEXIST' }))
  expect(fs.existsSync(join(dir, 'elsewhere'))).toBe(false)
})
