import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

/**
 * A home on a file system that is full. An ordinary user gets one of his own in a user namespace; the program that fills
 * it runs inside and prints what it saw.
 */
function onSmallDisk(program: string): Record<string, string> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-full-'))
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
  const script = 'mount -t tmpfs -o size=96m none "$1" && exec "$2" "$3" "$1"'
  const unshare = process.getuid?.() === 0 ? ['--mount'] : ['--mount', '--user', '--map-root-user']
  const args = [
    ...unshare,
    'sh',
    '-ec',
    script,
    'sh',
    base,
    process.execPath,
    fileURLToPath(new URL(program, import.meta.url)),
  ]
  const { stdout, stderr, status } = spawnSync('unshare', args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })
  expect(`${stderr}${status}`).toBe('0')
  return JSON.parse(stdout) as Record<string, string>
}

it('on a full disk reading, destroying, erasing and recovering still work, and nothing is half done', () => {
  expect(execFileSync('unshare', ['--version'], { encoding: 'utf8' })).toContain('unshare')
  const seen = onSmallDisk('programs/fill-disk.ts')
  expect(seen).toEqual({
    'fill the disk': 'ENOSPC',
    create: 'disk_full',
    'create from a folder': 'disk_full',
    write: 'disk_full',
    reset: 'disk_full',
    read: 'ok',
    list: 'ok',
    'destroy one': 'ok',
    'undelete one': 'ok',
    'destroy two': 'ok',
    'purge two': 'ok',
    recover: 'ok',
    verify: 'ok',
    close: 'ok',
    'open again': 'ok',
    'destroy three': 'ok',
    states: 'one ready, three trashed, two purged',
    content: 'kept',
    'left in tmp': '',
    'create when there is room again': 'ok',
    'the reserve is back': 'true',
  })
})
