import { createHash } from 'node:crypto'
import { closeSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { ensureDirectory } from '../directories.ts'
import { hostFs } from '../host-fs.ts'

/** A small file that many boxes are given, made once under the name of its content. Answers its path. */
export function partFile(run: string, content: Buffer): string {
  const directory = join(run, '.parts')
  const path = join(directory, createHash('sha256').update(content).digest('hex').slice(0, 32))
  // One that a power cut has shortened is made again.
  if (lstatSync(path, { throwIfNoEntry: false })?.size === content.length) return path
  ensureDirectory(directory, 0o700)
  const unfinished = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  const fd = hostFs.createSync(unfinished, 0o600)
  try {
    hostFs.writeSync(fd, content)
  } finally {
    closeSync(fd)
  }
  hostFs.renameSync(unfinished, path)
  return path
}
