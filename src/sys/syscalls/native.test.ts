import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AT_FDCWD, LOCK, type Native, RENAME, RESOLVE } from './native.ts'

let dir: string
beforeEach(() => void (dir = fs.mkdtempSync(join(tmpdir(), 'aw-native-'))))
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }))

/** The module as it is in a process with this in its environment. */
async function loadedWith(way: string): Promise<typeof import('./native.ts')> {
  vi.stubEnv('AW_NATIVE', way)
  vi.resetModules()
  return import('./native.ts')
}
afterEach(() => vi.unstubAllEnvs())

test('the addon is loaded, unless AW_NATIVE says otherwise', async () => {
  for (const way of ['auto', 'addon']) expect((await loadedWith(way)).nativeProblem()).toBeUndefined()
  const none = await loadedWith('none')
  expect([none.native(), none.isNativeLoaded()]).toEqual([undefined, false])
  expect(none.nativeProblem()).toBe('AW_NATIVE is none')
  const wrong = await loadedWith('other')
  expect(() => wrong.native()).toThrow(expect.objectContaining({ code: 'invalid_config' }))
})

describe('by the addon', () => {
  let calls: () => Native
  beforeEach(async () => {
    const module = await loadedWith('addon')
    const loaded = module.native()
    if (!loaded) throw new Error(`system calls are needed here: ${module.nativeProblem()}`)
    calls = () => loaded
  })

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

  test('links are read as they are, and what cannot be read is no error', () => {
    for (const target of ['somewhere', 'ä/ö'.repeat(500)]) {
      fs.symlinkSync(target, join(dir, 'link'))
      expect(calls().readLink(join(dir, 'link'))).toBe(target)
      fs.unlinkSync(join(dir, 'link'))
    }
    expect(calls().readLink(join(dir, 'none'))).toBeUndefined()
    expect(calls().readLink(dir)).toBeUndefined()
  })

  test('mounts are listed, page by page, with their file systems', () => {
    const listed: bigint[] = []
    const page = new BigUint64Array(2)
    for (let count = 2; count === 2; listed.push(...page.subarray(0, count)))
      count = calls().listmount(listed.at(-1) ?? 0n, page)
    const told = Buffer.alloc(512)
    const devices = listed.map((id) =>
      calls().statmount(id, told) ? `${told.readUInt32LE(16)}:${told.readUInt32LE(20)}` : '',
    )
    const lines = fs.readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n')
    expect(devices.toSorted()).toEqual(lines.map((line) => line.split(' ')[2] ?? '').toSorted())
    expect(calls().statmount(2n ** 62n, told)).toBe(false)
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

  test('a name with a NUL byte is refused, be it text or bytes', () => {
    const refused = expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' }) as Error
    fs.writeFileSync(join(dir, 'a'), '')
    const path = join(dir, 'a\0b')
    expect(() => calls().openat2(AT_FDCWD, path, 0, 0)).toThrow(refused)
    expect(() => calls().llistxattr(path)).toThrow(refused)
    expect(() => calls().llistxattr(Buffer.from(path))).toThrow(refused)
    expect(() => calls().lgetxattr(join(dir, 'a'), 'user.a\0b')).toThrow(refused)
  })

  test('names are any bytes, and as long as the kernel takes them', () => {
    const odd = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff, 0xfe, 0x80])])
    fs.writeFileSync(odd, '')
    calls().lsetxattr(odd, 'user.aw', Buffer.from('x'))
    expect(calls().lgetxattr(odd, 'user.aw')).toEqual(Buffer.from('x'))
    const longest = `${dir}${'/.'.repeat(2047)}`.slice(0, 4095 - 1).replace(/\.$/, '/')
    expect(calls().llistxattr(longest)).toBeInstanceOf(Array)
    expect(() => calls().llistxattr('é'.repeat(3000))).toThrow(expect.objectContaining({ code: 'ENAMETOOLONG' }))
  })

  test('what is done later is done, and a failure is told', async () => {
    const fd = fs.openSync(dir, fs.constants.O_DIRECTORY)
    await calls().syncfsLater(fd)
    const told = (code: string, syscall: string): Error => expect.objectContaining({ code, syscall }) as Error
    await expect(calls().ioctlLater(fd, 0x5401, Buffer.alloc(64))).rejects.toThrow(told('ENOTTY', 'ioctl'))
    fs.closeSync(fd)
    await expect(calls().syncfsLater(fd)).rejects.toThrow(told('EBADF', 'syncfs'))
  })

  test('large numbers arrive: a place in a file, times to the nanosecond', () => {
    const file = join(dir, 'file')
    const fd = fs.openSync(file, 'w+')
    try {
      fs.ftruncateSync(fd, 2 ** 40)
      expect(calls().lseek(fd, 2 ** 39 + 1, 4)).toBe(2 ** 39 + 1)
      calls().flock(fd, LOCK.EXCLUSIVE | LOCK.NONBLOCKING)
      calls().utimensat(AT_FDCWD, file, 1_600_000_000_123_456_789n, 1_700_000_000_987_654_321n)
      const { atimeNs, mtimeNs } = fs.fstatSync(fd, { bigint: true })
      expect([atimeNs, mtimeNs]).toEqual([1_600_000_000_123_456_789n, 1_700_000_000_987_654_321n])
    } finally {
      fs.closeSync(fd)
    }
  })
})
