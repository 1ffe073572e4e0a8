import * as fs from 'node:fs'
import { AwError } from '../../../../domain/errors.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { atBytes } from '../../../../sys/trees/names.ts'
import { applyOwnerAndMode, applyToOpenFile, makeNode } from '../../../../sys/trees/owner-and-mode.ts'
import type { Entry } from './entry.ts'
import type { Objects } from './objects.ts'

/** `device`: it could not be made, as this process may not, or system calls are missing. */
export type MakeResult = 'made' | 'shared' | 'device'

/** Makes an entry that is no directory under a free name in an open directory, exactly as it was. */
export function* makeEntry(objects: Objects, directory: number, name: string, entry: Entry): Coroutine<MakeResult> {
  const path = atBytes(directory, name)
  if (entry.kind === 'file') return yield* makeFile(objects, path, entry)
  if (entry.kind === 'symlink') hostFs.symlinkSync(Buffer.from(entry.content, 'latin1'), path)
  else if (!makeNode(path, entry)) return 'device'
  applyOwnerAndMode(path, entry)
  return 'made'
}

function* makeFile(objects: Objects, path: string | Buffer, entry: Entry): Coroutine<MakeResult> {
  const fd = hostFs.createSync(path, 0o600)
  let shared = false
  try {
    if (entry.size > 0) {
      const filled = yield* objects.fill(entry.content, entry.size, fd)
      if (filled === undefined) throw contentLost(entry)
      shared = filled.shared
    }
    applyToOpenFile(fd, path, entry)
  } finally {
    fs.closeSync(fd)
  }
  return shared ? 'shared' : 'made'
}

export const contentLost = ({ path }: Pick<Entry, 'path'>): AwError =>
  new AwError('filesystem_error', `The content of ${path} in the snapshot is missing or damaged`, {
    hint: 'To see what else is: aw verify',
    data: { path, reason: 'damaged' },
  })
