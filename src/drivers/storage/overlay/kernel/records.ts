import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../../domain/errors.ts'
import type { Area, Place } from '../../../../ports/storage-driver.ts'
import { syncDirectoryAsync } from '../../../../sys/fs/directories.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { LOCK, native } from '../../../../sys/syscalls/native.ts'

/**
 * Which layers a tree is made of: for each place a symbolic link in one directory, whose text lists the ids of its
 * layers, the uppermost first. That a link is there is what makes a tree exist; one call puts it there, replaces it or
 * gives it another name. As all are in one directory, one flush makes every change to them durable.
 *
 * Who adds or renames records holds the directory's lock together with others; who removes one holds it alone, and so
 * sees all there are when it looks which layers are still needed.
 */
export interface Records extends Disposable {
  read(place: Place): Stack | undefined
  /** `file_exists` if the place is taken. */
  add(place: Place, stack: Stack): void
  replace(place: Place, stack: Stack): void
  /** False if there is nothing at `from`. */
  move(from: Place, to: Place): boolean
  /** Two trees change places, in one step. */
  exchange(one: Place, other: Place): void
  remove(place: Place): void
  all(): [Place, Stack][]
  /** What a process that was killed has left of a change that it did not make. Only for who holds the lock alone. */
  tidy(): void
  sync(): void
  /** The same while other work goes on, when something else has happened. */
  syncLater(after?: Promise<unknown>): Promise<void>
}

/** Ids of layers, the uppermost first. */
export type Stack = readonly string[]

const directoryOf = (root: string): string => join(root, 'records')

/** Waits until nobody holds it alone, or with `alone` until nobody holds it at all. */
export async function lockRecords(root: string, how: 'together' | 'alone'): Promise<Records> {
  const fd = fs.openSync(directoryOf(root), fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)
  const operation = (how === 'alone' ? LOCK.EXCLUSIVE : LOCK.SHARED) | LOCK.NONBLOCKING
  try {
    while (!tryLock(fd, operation)) await sleep(0.5 + Math.random())
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
  return recordsIn(directoryOf(root), fd)
}

/** Makes what was recorded so far durable, for who has given the lock back by then. */
export const syncRecords = (root: string): Promise<void> => syncDirectoryAsync(directoryOf(root))

/** Without the lock: for a look, where the answer may be old when it arrives. */
export const readRecord = (root: string, place: Place): Stack | undefined => stackAt(recordOf(directoryOf(root), place))

export const listRecords = (root: string): Place[] => placesIn(directoryOf(root))

function tryLock(fd: number, operation: number): boolean {
  try {
    native()?.flock(fd, operation)
    return true
  } catch (error) {
    if (hasCode(error, 'EAGAIN', 'EWOULDBLOCK', 'EINTR')) return false
    throw error
  }
}

function recordsIn(directory: string, fd: number): Records {
  const path = (place: Place): string => recordOf(directory, place)
  return {
    read: (place) => stackAt(path(place)),
    add(place, stack) {
      try {
        hostFs.symlinkSync(stack.join(':'), path(place))
      } catch (error) {
        throw hasCode(error, 'EEXIST') ? recordTaken(place) : error
      }
    },
    replace(place, stack) {
      const next = join(directory, `${unfinished}${process.pid}-${++count}`)
      hostFs.symlinkSync(stack.join(':'), next)
      hostFs.renameSync(next, path(place))
    },
    move(from, to) {
      try {
        hostFs.renameNoReplaceSync(path(from), path(to))
        return true
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return false
        throw hasCode(error, 'EEXIST') ? recordTaken(to) : error
      }
    },
    exchange: (one, other) => hostFs.exchangeSync(path(one), path(other)),
    remove: (place) => hostFs.unlinkSync(path(place)),
    all: () =>
      placesIn(directory).flatMap((place): [Place, Stack][] => {
        const stack = stackAt(path(place))
        return stack === undefined ? [] : [[place, stack]]
      }),
    tidy() {
      for (const name of fs.readdirSync(directory))
        if (name.startsWith(unfinished)) hostFs.unlinkSync(join(directory, name))
    },
    sync: () => hostFs.fsyncSync(fd),
    async syncLater(after) {
      await after
      await hostFs.fsync(fd)
    },
    [Symbol.dispose]: () => fs.closeSync(fd),
  }
}

const unfinished = '.new-'
let count = 0

/** An area has no dot in its name. */
const recordOf = (directory: string, { area, name }: Place): string => join(directory, `${area}.${name}`)

function placesIn(directory: string): Place[] {
  const names = fs.readdirSync(directory).filter((name) => !name.startsWith('.'))
  return names.toSorted().map((name) => {
    const dot = name.indexOf('.')
    return { area: name.slice(0, dot) as Area, name: name.slice(dot + 1) }
  })
}

function stackAt(path: string): Stack | undefined {
  try {
    return fs.readlinkSync(path).split(':')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

export const recordTaken = (place: Place): AwError =>
  new AwError('file_exists', `There is already a tree at ${place.area}/${place.name}`, {
    hint: 'Run: aw recover',
    data: { place },
  })
