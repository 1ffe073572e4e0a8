import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { cpus, release, tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/**
 * Where the benchmarks run. An ext4 without a journal looks for free inodes past every file that was removed of late:
 * `cp -a` is nine times slower there, and whoever compares with it looks nine times better than he is. So root makes a
 * journalled ext4 of its own, in an image on a loop device with direct I/O.
 *
 * The mount is in a namespace of its own, the image loses its name as soon as it is attached, and the device is told to
 * detach with its last user: however this ends, nothing stays behind but an empty folder.
 */

const inside = 'AW_BENCH_INSIDE'
const size = '32G'

/** True in the process that has the place; false when another one was run there and has ended. */
export async function atThePlace(script: string): Promise<boolean> {
  const { [inside]: mounted, AW_BENCH_DIR: given } = process.env
  if (mounted === undefined && given === undefined && canMount()) {
    await runInNamespace(script)
    return false
  }
  if (mounted === undefined) makeFolder(given ?? tmpdir())
  else mountImage(mounted)
  return true
}

/** Everything that is measured is below it, and goes with it, also at Ctrl-C. */
function makeFolder(parent: string): void {
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'aw-bench-'))
  process.env['TMPDIR'] = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
}

const canMount = (): boolean =>
  process.getuid?.() === 0 &&
  ['unshare', 'losetup', 'mkfs.ext4', 'mount'].every((tool) => spawnSync(tool, ['--version']).error === undefined) &&
  spawnSync('unshare', ['--mount', 'true']).status === 0

async function runInNamespace(script: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-'))
  // Ctrl-C reaches the child too; wait for it, then tidy up.
  const wait = (): void => undefined
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, wait)
  try {
    const child = spawn('unshare', ['--mount', process.execPath, script, ...process.argv.slice(2)], {
      stdio: 'inherit',
      env: { ...process.env, [inside]: folder },
    })
    process.once('SIGTERM', () => child.kill())
    process.exitCode = await new Promise<number>((resolve, reject) => {
      child.on('error', reject).on('close', (code, signal) => resolve(code ?? (signal === null ? 1 : 130)))
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const mountImage = (folder: string): void => {
  mountOn(folder, 'ext4')
  process.env['TMPDIR'] = folder
}

/**
 * A btrfs of its own beside the journalled file system, on a device of the same kind: its image lies where that one's
 * does, not inside of it, where every flush would be two.
 */
export function mountBtrfs(folder: string): Disposable & { readonly path: string } {
  mkdirSync(folder)
  mountOn(folder, 'btrfs', process.env[inside] === undefined ? folder : `${process.env[inside]}.btrfs`)
  return { path: folder, [Symbol.dispose]: () => void execFileSync('umount', ['--lazy', folder]) }
}

function mountOn(folder: string, type: 'ext4' | 'btrfs', name = folder): void {
  const image = `${name}.image`
  const tool = (name: string, ...args: readonly string[]): string =>
    execFileSync(name, args, { encoding: 'utf8' }).trim()
  tool('truncate', '--size', size, image)
  // Room for many trees of many small files.
  let device: string
  try {
    tool(`mkfs.${type}`, '-q', ...(type === 'ext4' ? ['-F', '-i', '4096'] : ['-f']), image)
    device = tool('losetup', '--find', '--show', '--direct-io=on', image)
  } finally {
    rmSync(image)
  }
  try {
    tool('mount', '-o', 'noatime', device, folder)
  } finally {
    // At once if it is not mounted; else with the mount.
    tool('losetup', '--detach', device)
  }
}

export interface Facts {
  readonly cores: number
  readonly kernel: string
  readonly node: string
  readonly fileSystem: string
  readonly journal: 'yes' | 'no' | 'unknown'
  readonly log: string
}

/** What a reader must know about the machine, and nothing that tells one machine from another of its kind. */
export function facts(): Facts {
  const mount = mountOf(tmpdir())
  return {
    cores: cpus().length,
    kernel: release().split('.').slice(0, 2).join('.'),
    node: process.version,
    fileSystem: mount.type,
    journal: journalOf(mount),
    log: 'in the home, on the same file system; SQLite, WAL, flushed before each answer',
  }
}

interface Mount {
  readonly type: string
  readonly device: string
}

function mountOf(path: string): Mount {
  const { dev } = statSync(path)
  const number = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const [type = 'unknown'] = after.split(' ')
    if (before.split(' ')[2] === number) return { type, device: deviceName(number) }
  }
  return { type: 'unknown', device: '' }
}

function deviceName(number: string): string {
  const uevent = `/sys/dev/block/${number}/uevent`
  return existsSync(uevent) ? (/^DEVNAME=(.+)$/m.exec(readFileSync(uevent, 'utf8'))?.[1] ?? '') : ''
}

/** ext4 is the one that can be without; its journal shows in /proc while it is mounted. */
function journalOf({ type, device }: Mount): Facts['journal'] {
  if (['xfs', 'btrfs', 'zfs', 'f2fs', 'bcachefs'].includes(type)) return 'yes'
  if (type !== 'ext4' || device === '') return type === 'tmpfs' ? 'no' : 'unknown'
  return existsSync(`/proc/fs/jbd2/${basename(device)}-8`) ? 'yes' : 'no'
}
