import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { launcher } from '../../cli/built-command.ts'

/** Mounted in a namespace of its own, they go with the program that is run there, however it ends. */
const mounts = {
  tmpfs: (size: string) => `mount -t tmpfs -o size=${size} none "$1"`,
  ext4: (size: string) =>
    `truncate -s ${size} "$1.img"; mkfs.ext4 -q -m 0 "$1.img"; mount -o loop "$1.img" "$1"; rm "$1.img"`,
}

/**
 * Runs a program in a namespace with a small file system and gives what it printed. An ordinary user gets a user namespace
 * too, in which he can mount a tmpfs.
 */
function onSmallDisk(kind: keyof typeof mounts, size: string, program: string): Record<string, string> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-full-'))
  onTestFinished(() => {
    for (const path of [base, `${base}.img`]) fs.rmSync(path, { recursive: true, force: true })
  })
  const script = `${mounts[kind](size)}; shift; exec "$@"`
  const unshare = isRoot ? ['--mount'] : ['--mount', '--user', '--map-root-user']
  const file = fileURLToPath(new URL(program, import.meta.url))
  const args = [...unshare, 'sh', '-ec', script, 'sh', base, process.execPath, file, base, launcher]
  const { stdout, stderr, status } = spawnSync('unshare', args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })
  expect(`${stderr}${status}`).toBe('0')
  return JSON.parse(stdout) as Record<string, string>
}

const isRoot = process.getuid?.() === 0

it('on a full disk reading, destroying, erasing and recovering still work, and nothing is half done', () => {
  expect(execFileSync('unshare', ['--version'], { encoding: 'utf8' })).toContain('unshare')
  const seen = onSmallDisk('tmpfs', '96m', '../../support/programs/fill-disk.ts')
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

const ok = (when: string, ...lines: string[]): Record<string, string> =>
  Object.fromEntries(lines.map((line) => [`${when}: ${line}`, 'ok']))

/** Only root can mount a disk image. */
const kinds = isRoot ? (['tmpfs', 'ext4'] as const) : (['tmpfs'] as const)

it.each(kinds)('a %s of a few MB that a workspace has filled to the last byte', (kind) => {
  const seen = onSmallDisk(kind, kind === 'tmpfs' ? '6m' : '12m', '../../support/programs/full-disk.ts')
  expect(seen).toEqual({
    ...ok('with room', 'create a', 'create b', 'create c', 'create e', 'create f', 'destroy c'),
    'the reserve': '1048576',
    ...ok('full', 'list', 'show a', 'path a', 'fs read a work/file', 'fs list a work', 'events', 'audit verify'),
    'the reserve when only read': '1048576',
    'full: create d': '7 disk_full',
    'full: reset a': '7 disk_full',
    'full: fs write a work/large --content x': '7 disk_full',
    ...ok('full', 'undelete c', 'destroy a', 'undelete a', 'destroy f', 'purge f', 'gc', 'recover'),
    ...ok('full again', 'list', 'destroy e', 'undelete e'),
    'full again: create d': '7 disk_full',
    ...ok('sdk', 'list', 'read', 'verify', 'destroy', 'undelete', 'destroy and purge what fills it'),
    'sdk: create': 'disk_full',
    'sdk: create with room again': 'ok',
    'the reserve with room again': '1048576',
    ...ok('with room again', 'create g', 'destroy g', 'purge g'),
    content: 'kept',
    intact: 'true',
    'left in the home':
      'locks log.anchor log.db log.db-shm log.db-wal requests reserve storage storage.id texts variables workspaces',
  })
})
