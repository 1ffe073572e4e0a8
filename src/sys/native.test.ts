import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AT_FDCWD, native, nativeProblem, RENAME, RESOLVE } from './native.ts'

let dir: string
beforeEach(() => void (dir = fs.mkdtempSync(join(tmpdir(), 'aw-native-'))))
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }))

function calls() {
  const loaded = native()
  if (!loaded) throw new Error(`system calls are needed here: ${nativeProblem()}`)
  return loaded
}

test('openat2 stays below the directory it was given', () => {
  fs.writeFileSync(join(dir, 'file'), 'inside')
  fs.symlinkSync('/etc', join(dir, 'out'))
  const root = fs.openSync(dir, fs.constants.O_DIRECTORY)
  try {
    const fd = calls().openat2(root, 'file', fs.constants.O_RDONLY, RESOLVE.BENEATH)
    expect(fs.readFileSync(fd, 'utf8')).toBe('inside')
    expect(fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')).toMatch(/^flags:\t02/m)
    fs.closeSync(fd)
    expect(() => calls().openat2(root, 'out/passwd', 0, RESOLVE.BENEATH)).toThrow(
      expect.objectContaining({ code: 'EXDEV', errno: -18, syscall: 'openat2' }),
    )
    expect(() => calls().openat2(root, 'none', 0, 0)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  } finally {
    fs.closeSync(root)
  }
})

test('renameat2 refuses to replace, and exchanges', () => {
  const [a, b] = [join(dir, 'a'), join(dir, 'b')]
  fs.writeFileSync(a, 'a')
  fs.writeFileSync(b, 'b')
  expect(() => calls().renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME.NOREPLACE)).toThrow(
    expect.objectContaining({ code: 'EEXIST' }),
  )
  calls().renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME.EXCHANGE)
  expect([fs.readFileSync(a, 'utf8'), fs.readFileSync(b, 'utf8')]).toEqual(['b', 'a'])
})

test('extended attributes come back byte for byte', () => {
  const fd = fs.openSync(join(dir, 'file'), 'w')
  try {
    const value = Buffer.from([0, 1, 255, 10])
    calls().fsetxattr(fd, 'user.aw', value)
    expect(calls().flistxattr(fd)).toContain('user.aw')
    expect(calls().fgetxattr(fd, 'user.aw')).toEqual(value)
    calls().fremovexattr(fd, 'user.aw')
    expect(calls().flistxattr(fd)).not.toContain('user.aw')
    expect(() => calls().fgetxattr(fd, 'user.aw')).toThrow(expect.objectContaining({ code: 'ENODATA' }))
    calls().syncfs(fd)
  } finally {
    fs.closeSync(fd)
  }
})

test('getdents64 answers records until there are none', () => {
  fs.writeFileSync(join(dir, 'file'), '')
  const fd = fs.openSync(dir, fs.constants.O_DIRECTORY)
  const buffer = Buffer.alloc(4096)
  expect(calls().getdents64(fd, buffer)).toBeGreaterThan(0)
  expect(buffer.includes('file\0')).toBe(true)
  expect(calls().getdents64(fd, buffer)).toBe(0)
  fs.closeSync(fd)
})

test('a signal sent by pidfd reaches that process', async () => {
  const child = spawn('sleep', ['60'])
  const gone = new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)))
  const pidfd = calls().pidfdOpen(child.pid ?? 0)
  calls().pidfdSendSignal(pidfd, 9)
  expect(await gone).toBe('SIGKILL')
  expect(() => calls().pidfdSendSignal(pidfd, 9)).toThrow(expect.objectContaining({ code: 'ESRCH' }))
  fs.closeSync(pidfd)
})
