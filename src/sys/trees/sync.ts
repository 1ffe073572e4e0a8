import * as fs from 'node:fs'
import { hostFs } from '../fs/host-fs.ts'
import { at, directoryFlags, type Name, namingFlags, readFlags } from '../safe-fs/descriptors.ts'
import { openDirectoryStack } from '../safe-fs/directory-stack.ts'
import { readNames } from '../safe-fs/read/list.ts'

/** How many files are open and on their way to the disk at the same time. */
const together = 32

interface Frame {
  readonly left: Name[]
  readonly full: boolean
  readonly stat: fs.Stats
}

/**
 * File by file, where a flush of the whole file system would wait for the writes of everybody else, or cannot be asked
 * for. The files at the same time: one commit of the journal then serves several (1 ms instead of 2). Links are not
 * followed, and nothing but files and directories is opened.
 * @param fresh everything in it was just made: then an empty directory is there when its own name is, and is left out
 */
export async function syncFiles(path: string, { fresh = false } = {}): Promise<void> {
  const base = fs.openSync(path, directoryFlags)
  const levels = openDirectoryStack(base)
  const frames: Frame[] = [enter(base)]
  const running: Promise<void>[] = []
  try {
    for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
      const name = frame.left.pop()
      if (name === undefined) {
        // A directory holds the names in it.
        if (!fresh || frame.full) running.push(sync(openToSync(levels.top(), frame.stat)))
        frames.pop()
        levels.pop()
      } else {
        const fd = fs.openSync(at(levels.top(), name), namingFlags)
        const stat = fs.fstatSync(fd)
        if (stat.isDirectory()) {
          levels.push(name, fd)
          frames.push(enter(fd))
          continue
        }
        if (stat.isFile()) running.push(sync(openToSync(fd, stat)))
        fs.closeSync(fd)
      }
      if (running.length >= together) await Promise.all(running.splice(0))
    }
    await Promise.all(running)
  } finally {
    await Promise.allSettled(running)
    levels[Symbol.dispose]()
    fs.closeSync(base)
  }
}

/** A copy has the modes of what it was made from, and its owner may be none of those who may read it. */
function enter(fd: number): Frame {
  const stat = fs.fstatSync(fd)
  if (isShut(stat)) hostFs.chmodSync(at(fd), modeOf(stat) | 0o700)
  const left = readNames(fd)
  return { left, full: left.length > 0, stat }
}

function openToSync(fd: number, stat: fs.Stats): number {
  if (!isShut(stat)) return fs.openSync(at(fd), readFlags)
  hostFs.chmodSync(at(fd), modeOf(stat) | 0o700)
  try {
    return fs.openSync(at(fd), readFlags)
  } finally {
    hostFs.chmodSync(at(fd), modeOf(stat))
  }
}

const modeOf = (stat: fs.Stats): number => stat.mode & 0o7777

const isShut = (stat: fs.Stats): boolean => {
  const need = stat.isDirectory() ? 0o500 : 0o400
  return process.getuid?.() !== 0 && (stat.mode & need) !== need
}

async function sync(fd: number): Promise<void> {
  try {
    await hostFs.fsync(fd)
  } finally {
    fs.closeSync(fd)
  }
}
