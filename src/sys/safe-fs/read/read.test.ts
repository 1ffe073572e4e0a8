import { execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { codeOf, useWorkspace } from '../../../../test/attacks/workspace.ts'

describe.each(['openat2', 'walk'] as const)('read, by %s', (resolver) => {
  const ws = useWorkspace({ resolver, publicRoot: '/mnt/workspace' })
  const text = (path: string) => ws.files.read(path).toString()

  test('gives the bytes of a file, or a part of them', () => {
    ws.put('a/b/c.txt', 'hello')
    expect(text('a/b/c.txt')).toBe('hello')
    expect(text('a/./b//c.txt')).toBe('hello')
    expect(text('a/b/../b/c.txt')).toBe('hello')
    expect(ws.files.read('a/b/c.txt', { offset: 1, length: 3 }).toString()).toBe('ell')
    expect(ws.files.read('a/b/c.txt', { offset: 9 })).toHaveLength(0)
  })

  test('refuses what is larger than is accepted', () => {
    ws.put('big', 'x'.repeat(100))
    expect(codeOf(() => ws.files.read('big', { maxBytes: 99 }))).toBe('file_too_large')
    expect(ws.files.read('big', { maxBytes: 100 })).toHaveLength(100)
    expect(ws.files.read('big', { maxBytes: 10, offset: 90 })).toHaveLength(10)
    fs.truncateSync(ws.path('big'), 2 ** 40)
    expect(codeOf(() => ws.files.read('big'))).toBe('file_too_large')
    expect(ws.files.read('big', { offset: 2 ** 39, length: 4 })).toEqual(Buffer.alloc(4))
  })

  test('does not wake who waits at the other end of a pipe', async () => {
    execFileSync('mkfifo', [ws.path('pipe')])
    const writer = spawn('sh', ['-c', 'echo ready; echo content > pipe; echo woken'], { cwd: ws.path() })
    let told = ''
    const ready = new Promise<void>((resolve) =>
      writer.stdout.on('data', (text) => {
        told += String(text)
        resolve()
      }),
    )
    await ready
    // Now it opens the pipe, and sleeps there.
    while (!fs.readFileSync(`/proc/${writer.pid}/stat`, 'utf8').includes(') S ')) await setTimeout(1)
    await setTimeout(20)
    for (let count = 0; count < 20; count++) expect(codeOf(() => ws.files.read('pipe'))).toBe('not_a_file')
    await setTimeout(100)
    expect({ told, ended: writer.exitCode ?? writer.signalCode }).toEqual({ told: 'ready\n', ended: null })
    writer.kill('SIGKILL')
  })

  test('says what is wrong', () => {
    ws.put('file')
    fs.mkdirSync(ws.path('dir'))
    fs.symlinkSync('loop', ws.path('loop'))
    const codes = ['none', 'none/x', 'file/x', 'file/', 'dir', '', 'loop', 'loop/x', '../x'].map((path) =>
      codeOf(() => text(path)),
    )
    expect(codes).toEqual([
      'file_not_found',
      'file_not_found',
      'not_a_directory',
      'not_a_directory',
      'not_a_file',
      'invalid_path',
      'cannot_resolve_symlinks',
      'cannot_resolve_symlinks',
      'path_traversal_attempt',
    ])
    expect(codeOf(() => ws.files.read('file', { offset: -1 }))).toBe('invalid_input')
  })

  test('never waits for a pipe and never opens a socket', () => {
    execFileSync('mkfifo', [ws.path('pipe')])
    expect(codeOf(() => text('pipe'))).toBe('not_a_file')
  })

  test('follows links that stay inside', () => {
    ws.put('d/file', 'content')
    fs.symlinkSync('d', ws.path('to-dir'))
    fs.symlinkSync('../d/./file', ws.path('d/to-file'))
    fs.symlinkSync(ws.path('d/file'), ws.path('absolute'))
    fs.symlinkSync('/mnt/workspace/d', ws.path('public'))
    fs.symlinkSync('d/', ws.path('slash'))
    for (const path of ['to-dir/file', 'd/to-file', 'absolute', 'public/file', 'slash/file', 'to-dir/../d/file']) {
      expect(text(path)).toBe('content')
    }
    expect(codeOf(() => text('to-dir/none'))).toBe('file_not_found')
  })

  test('does not follow those that leave', () => {
    fs.writeFileSync(ws.outside('secret'), 'secret')
    fs.symlinkSync('../secret', ws.path('relative'))
    fs.symlinkSync(ws.outside('secret'), ws.path('absolute'))
    fs.symlinkSync('..', ws.path('up'))
    fs.symlinkSync('nowhere/../..', ws.path('broken'))
    fs.mkdirSync(ws.path('d'))
    fs.symlinkSync('.', ws.path('d/root'))
    expect(codeOf(() => text('relative'))).toBe('symlink_outside_workspace')
    expect(codeOf(() => text('absolute'))).toBe('symlink_outside_workspace')
    expect(codeOf(() => text('up/secret'))).toBe('symlink_outside_workspace')
    expect(codeOf(() => text('broken/secret'))).toBe('file_not_found')
    expect(codeOf(() => ws.files.stat('up'))).toBe('symlink_outside_workspace')
  })

  test('a caller cannot climb out through a link either', () => {
    fs.mkdirSync(ws.path('d'))
    fs.symlinkSync('..', ws.path('d/root'))
    expect(codeOf(() => text('d/root/../secret'))).toBe('path_traversal_attempt')
  })

  test('takes absolute paths as asked', () => {
    ws.put('file', 'content')
    expect(text(ws.path('file'))).toBe('content')
    expect(text('/mnt/workspace/file')).toBe('content')
    expect(codeOf(() => text('/etc/passwd'))).toBe('path_outside_workspace')
    expect(codeOf(() => ws.files.read(ws.path('file'), { absolute: 'reject' }))).toBe('absolute_path_not_allowed')
    expect(ws.files.stat('/file', { absolute: 'rebase' })).toMatchObject({ path: 'file', rebased: true })
  })
})
