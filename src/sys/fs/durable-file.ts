import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { counted } from './crash-points.ts'
import { syncPath } from './directories.ts'
import { hasCode } from '../syscalls/errno.ts'

/** Small files beside the log. Each call returns when what it did would survive a power cut. */
export const durableFile = counted({
  /** Makes an empty file for its owner alone. One that exists is not even opened: closing it could drop SQLite's locks. */
  create(file: string): void {
    if (existsSync(file)) return
    try {
      closeSync(openSync(file, 'ax', 0o600))
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return
      throw error
    }
    syncPath(dirname(file))
  },
  append(file: string, text: string): void {
    const isNew = !existsSync(file)
    const handle = openSync(file, 'a', 0o600)
    try {
      writeSync(handle, text)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    if (isNew) syncPath(dirname(file))
  },
  /** Absent = done. */
  remove(file: string): void {
    rmSync(file, { force: true })
  },
  rename(from: string, to: string): void {
    syncPath(from)
    renameSync(from, to)
    syncPath(dirname(to))
  },
})

/** Its text, or `undefined` if there is no such file. */
export function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

/** Whose it is and how big, or `undefined` if there is no such file. */
export function fileFacts(file: string): { uid: number; bytes: number } | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && { uid: found.uid, bytes: found.size }
}

/** Files of a directory that were last written before then; none if there is no such directory. */
export function filesBefore(directory: string, before: Date): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < before.getTime())
}
