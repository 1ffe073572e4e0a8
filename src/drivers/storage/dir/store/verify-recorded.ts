import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import type { Change } from '../../../../domain/trees/diff.ts'
import type { Verified } from '../../../../ports/storage-driver.ts'
import { syncPath } from '../../../../sys/fs/directories.ts'
import { hasCode, ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { diffManifests } from './scan/diff-manifests.ts'
import { hashContent } from './scan/read-entry.ts'
import { distinct, sizeOfFiles } from './inspect.ts'
import { entriesOf, formatManifest, type Manifest, readIfWhole } from './manifest.ts'
import { scanTree } from './scan/scan.ts'

/**
 * Reads a tree that never changes, every byte of it, and compares it with what it was when it was first read: that is
 * kept in a file of the given name. The first time there is nothing to compare with.
 */
export async function verifyRecorded(tree: string, file: string, signal?: AbortSignal): Promise<Verified> {
  const now = await read(tree, signal)
  const before = readIfWhole(file)
  const size = sizeOfFiles(distinct(entriesOf(now).filter(({ kind }) => kind === 'file')))
  if (before !== undefined) return { method: 'hashes', ...size, problems: diffManifests(before, now).map(problem) }
  record(file, now)
  return { method: 'none', ...size, problems: [] }
}

async function read(tree: string, signal?: AbortSignal): Promise<Manifest> {
  const top = fs.openSync(tree, directoryFlags)
  try {
    const known = () => new Map<string, never>()
    const how = { known, read: hashContent, flushedAt: Date.now(), writeOut: false, alone: true, signal }
    const { entries } = await scanTree(top, how)
    return { consistency: 'atomic', lines: [...entries.values()].map(({ line }) => line) }
  } finally {
    fs.closeSync(top)
  }
}

/** Where there is no room for it, or nothing can be written, the tree was read all the same. */
function record(file: string, manifest: Manifest): void {
  const temporary = join(dirname(file), `new-${randomBytes(8).toString('hex')}`)
  try {
    const fd = hostFs.createSync(temporary, 0o600)
    try {
      hostFs.writeSync(fd, formatManifest(manifest))
      hostFs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
    hostFs.renameSync(temporary, file)
    syncPath(dirname(file))
  } catch (error) {
    ignoreErrors(['ENOENT', 'EROFS'], () => hostFs.unlinkSync(temporary))
    if (!hasCode(error, 'ENOSPC', 'EDQUOT', 'EROFS')) throw error
  }
}

function problem({ path, change, from, what }: Change): Verified['problems'][number] {
  if (change === 'removed') return { path, message: 'it is missing' }
  if (change === 'added') return { path, message: 'it was not there' }
  if (change === 'renamed') return { path, message: `its name was ${from}` }
  return { path, message: `it is not what it was: ${what.join(', ')}` }
}
