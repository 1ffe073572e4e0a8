import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeLater, codeOf, openDescriptors, useWorkspace } from '../../../../test/attacks/workspace.ts'
import { isTemporaryName } from '../../../domain/paths.ts'
import type { FileWriter } from '../../../ports/files.ts'
import { native } from '../../syscalls/native.ts'

const mib = 2 ** 20

describe.each(['openat2', 'walk'] as const)('open, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace', protect: ['.aw'] })

  test('gives any part of a file, however large it is', async () => {
    ws.put('d/file', 'hello')
    fs.truncateSync(ws.path('d/file'), 2 ** 40)
    using file = ws.files.open('d/file')
    expect(file).toMatchObject({ size: 2 ** 40, mtime: ws.files.stat('d/file').mtime })
    expect((await file.read(1, 3)).toString()).toBe('ell')
    expect(await file.read(2 ** 40 - mib, mib)).toEqual(Buffer.alloc(mib))
    expect(await file.read(2 ** 40 - 2, 10)).toHaveLength(2)
    expect(await file.read(2 ** 41, 10)).toHaveLength(0)
    expect(await codeLater(() => file.read(-1, 10))).toBe('invalid_input')
  })

  test('goes on with that file when another takes its place, and when the tree goes', async () => {
    ws.put('file', 'old content')
    const handle = ws.files
    using file = handle.open('file')
    expect((await file.read(0, 3)).toString()).toBe('old')
    handle.write('file', 'new and longer content')
    handle[Symbol.dispose]()
    fs.rmSync(ws.path(), { recursive: true })
    expect((await file.read(3, 100)).toString()).toBe(' content')
    expect(file.size).toBe(11)
  })

  test('opens nothing but regular files inside', () => {
    fs.writeFileSync(ws.outside('secret'), 'secret')
    fs.symlinkSync('../secret', ws.path('out'))
    fs.mkdirSync(ws.path('dir'))
    execFileSync('mkfifo', [ws.path('pipe')])
    const codes = ['out', 'dir', 'pipe', 'none', '', '../secret', '/etc/passwd'].map((path) =>
      codeOf(() => ws.files.open(path)),
    )
    expect(codes).toEqual([
      'symlink_outside_workspace',
      'not_a_file',
      'not_a_file',
      'file_not_found',
      'invalid_path',
      'path_traversal_attempt',
      'path_outside_workspace',
    ])
  })

  test('is closed once, and not while it is read', async () => {
    ws.put('file', 'x'.repeat(mib))
    // Some are opened once and kept.
    ws.files.open('file')[Symbol.dispose]()
    const before = openDescriptors()
    const file = ws.files.open('file')
    const reading = file.read(0, mib)
    expect(await codeLater(() => file.read(0, 1))).toBe('internal')
    file[Symbol.dispose]()
    file[Symbol.dispose]()
    expect(await reading).toHaveLength(mib)
    expect(await codeLater(() => file.read(0, 1))).toBe('internal')
    expect(openDescriptors()).toBe(before)
  })
})

const all = (path: string): string[] => fs.readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()

async function put(file: FileWriter, ...pieces: string[]) {
  using writer = file
  for (const piece of pieces) await writer.write(Buffer.from(piece))
  return writer.finish()
}

describe.each(['openat2', 'walk'] as const)('create, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace', protect: ['.aw'] })

  test('a file is there when all of it is, with its parents, and not before', async () => {
    const file = ws.files.create('a/b/c')
    await file.write(Buffer.from('one '))
    await file.write(Buffer.from('two'))
    expect([file.size, all(ws.path())]).toEqual([7, []])
    expect(file.finish()).toMatchObject({ path: 'a/b/c', kind: 'file', size: 7, links: 1 })
    file[Symbol.dispose]()
    expect(ws.get('a/b/c')).toBe('one two')
    expect(all(ws.path())).toEqual(['a', 'a/b', 'a/b/c'])
    expect(await put(ws.files.create('empty'))).toMatchObject({ size: 0 })
  })

  test('what is not finished leaves nothing', async () => {
    ws.put('file', 'old')
    ws.files.create('file')[Symbol.dispose]()
    const before = openDescriptors()
    for (const path of ['file', 'new', 'x/y/z']) {
      using writer = ws.files.create(path)
      await writer.write(Buffer.alloc(mib))
    }
    expect([all(ws.path()), ws.get('file')]).toEqual([['file'], 'old'])
    expect(openDescriptors()).toBe(before)
  })

  test('keeps mode, owner and attributes of what it replaces, and other names of it as they were', async () => {
    ws.put('script', 'old')
    fs.linkSync(ws.path('script'), ws.path('other'))
    const fd = fs.openSync(ws.path('script'), 'r+')
    native()?.fsetxattr(fd, 'user.note', Buffer.from('mine'))
    fs.fchownSync(fd, 1234, 2345)
    fs.fchmodSync(fd, 0o4750)
    fs.closeSync(fd)
    expect(await put(ws.files.create('script'), 'new')).toMatchObject({ mode: 0o750, uid: 1234, gid: 2345, links: 1 })
    const now = fs.openSync(ws.path('script'), 'r')
    expect(native()?.fgetxattr(now, 'user.note').toString()).toBe('mine')
    fs.closeSync(now)
    expect([ws.get('script'), ws.get('other')]).toEqual(['new', 'old'])
    expect((await put(ws.files.create('script', { mode: 0o600 }), '')).mode).toBe(0o600)
    expect((await put(ws.files.create('fresh', { mode: 0o640, durable: true }), '')).mode).toBe(0o640)
    fs.chownSync(ws.path(), 77, 78)
    expect(await put(ws.files.create('d/theirs'), '')).toMatchObject({ uid: 77, gid: 78 })
  })

  test('replaces only if it may, also what came meanwhile', async () => {
    ws.put('file', 'old')
    expect(codeOf(() => ws.files.create('file', { existing: 'error' }))).toBe('file_exists')
    for (const existing of ['error', 'replace'] as const) {
      using writer = ws.files.create(`late-${existing}`, { existing })
      await writer.write(Buffer.from('mine'))
      ws.put(`late-${existing}`, 'theirs')
      expect(codeOf(() => writer.finish())).toBe(existing === 'error' ? 'file_exists' : 'ok')
    }
    expect([ws.get('late-error'), ws.get('late-replace')]).toEqual(['theirs', 'mine'])
    expect(all(ws.path())).toEqual(['file', 'late-error', 'late-replace'])
  })

  test('follows links that stay inside, when it begins and when it ends', async () => {
    ws.put('d/target', 'old')
    fs.symlinkSync('d/target', ws.path('link'))
    fs.symlinkSync('..', ws.path('up'))
    fs.symlinkSync('../new', ws.path('dangling'))
    await put(ws.files.create('link'), 'new')
    expect([fs.readlinkSync(ws.path('link')), ws.get('d/target')]).toEqual(['d/target', 'new'])
    for (const path of ['up/x', 'dangling', 'up/x/y'])
      expect(codeOf(() => ws.files.create(path))).toBe('symlink_outside_workspace')
    using writer = ws.files.create('d/x')
    await writer.write(Buffer.from('x'))
    fs.rmSync(ws.path('d'), { recursive: true })
    fs.symlinkSync('..', ws.path('d'))
    expect(codeOf(() => writer.finish())).toBe('symlink_outside_workspace')
    expect(fs.readdirSync(ws.base)).toEqual(['ws'])
  })

  test('refuses at once what it can never put in its place', () => {
    fs.mkdirSync(ws.path('.aw'))
    fs.mkdirSync(ws.path('dir'))
    execFileSync('mkfifo', [ws.path('pipe')])
    const codes = ['.aw/x', '.AW/x', 'dir', 'pipe', 'new/', '', 'no/../../x', 'pipe/x'].map((path) =>
      codeOf(() => ws.files.create(path)),
    )
    expect(codes).toEqual([
      'path_protected',
      'path_protected',
      'not_a_file',
      'not_a_file',
      'not_a_file',
      'invalid_path',
      'path_traversal_attempt',
      'not_a_directory',
    ])
    expect(codeOf(() => ws.files.create('no/x', { parents: false }))).toBe('file_not_found')
    expect(all(ws.path())).toEqual(['.aw', 'dir', 'pipe'])
  })
})

test('a crash at any step leaves what was there or what was to be there, and nothing half', () => {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-files-'))
  const script = `
    import { openRoot } from ${JSON.stringify(join(import.meta.dirname, '../index.ts'))}
    const files = openRoot(${JSON.stringify(base)})
    for (const path of ['d/old', 'new']) {
      const writer = files.create(path)
      for (const piece of ['on', 'e']) await writer.write(Buffer.from(piece))
      writer.finish()
    }
    console.log('done')`
  const seen = new Set<string>()
  try {
    for (let point = 1, ended = false; !ended; point++) {
      fs.rmSync(base, { recursive: true })
      fs.mkdirSync(join(base, 'd'), { recursive: true })
      fs.writeFileSync(join(base, 'd/old'), 'old')
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        env: { ...process.env, AW_CRASH_AT: String(point) },
        encoding: 'utf8',
      })
      ended = stdout === 'done\n'
      const names = all(base).filter((name) => name !== 'd')
      // Between its temporary name and its own there is one step; it is whole by then.
      const found = names.map((name) => {
        const shown = isTemporaryName(basename(name)) ? join(dirname(name), 'temporary') : name
        return `${shown}=${fs.readFileSync(join(base, name), 'utf8')}`
      })
      seen.add(found.join(' '))
    }
    expect([...seen]).toEqual(['d/old=old', 'd/temporary=one d/old=old', 'd/old=one', 'd/old=one new=one'])
  } finally {
    fs.rmSync(base, { recursive: true })
  }
})

/** Where files without a name cannot be had; here because the system calls are missing. */
test('without system calls there is a temporary name, which goes too', () => {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-files-'))
  const script = `
    import * as fs from 'node:fs'
    const { openRoot } = await import(${JSON.stringify(join(import.meta.dirname, '../index.ts'))})
    const { native } = await import(${JSON.stringify(join(import.meta.dirname, '../../syscalls/native.ts'))})
    const files = openRoot(${JSON.stringify(base)})
    const list = () => fs.readdirSync(${JSON.stringify(base)}, { recursive: true }).map(String).sort()
    const told = [native() === undefined]
    const first = files.create('d/file')
    await first.write(Buffer.from('one'))
    told.push(list().length)
    first.finish()
    first[Symbol.dispose]()
    told.push(list())
    const second = files.create('d/file')
    await second.write(Buffer.from('two'))
    told.push(list().length)
    second[Symbol.dispose]()
    told.push(list(), fs.readFileSync(${JSON.stringify(join(base, 'd/file'))}, 'utf8'))
    console.log(JSON.stringify(told))`
  try {
    const told = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { ...process.env, AW_NATIVE: 'none' },
    })
    expect(JSON.parse(told)).toEqual([true, 1, ['d', 'd/file'], 3, ['d', 'd/file'], 'one'])
  } finally {
    fs.rmSync(base, { recursive: true })
  }
})
