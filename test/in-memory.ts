import { readFileSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'

const folder = '/dev/shm'
const room = 4 * 2 ** 30

/**
 * For the environment of tests that ask what processes do, and not what a disk does: their files are in memory, as most of
 * their time is waiting for a disk. Where there is little room, or programs may not be run from there, they are on it.
 */
export function inMemory(): { TMPDIR?: string } {
  try {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
    const [, , type, options = ''] = mounts.findLast((line) => line.split(' ')[1] === folder)?.split(' ') ?? []
    const { bavail, bsize } = statfsSync(folder)
    const isFit = type === 'tmpfs' && !options.split(',').includes('noexec')
    return isFit && Math.min(bavail * bsize, freemem()) > room ? { TMPDIR: folder } : {}
  } catch {
    return {}
  }
}
