import { createHash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { writeAtomically } from './temporary-files.ts'

const digests = new WeakMap<Buffer, string>()

function digestOf(content: Buffer): string {
  const digest = digests.get(content) ?? createHash('sha256').update(content).digest('hex').slice(0, 32)
  digests.set(content, digest)
  return digest
}

/** A small file that many boxes are given, made once under the name of its content. Answers its path. */
export function sharedFile(run: string, content: Buffer): string {
  const path = join(run, '.parts', digestOf(content))
  // One that a power cut has shortened is made again.
  if (lstatSync(path, { throwIfNoEntry: false })?.size === content.length) return path
  writeAtomically(run, path, content)
  return path
}
