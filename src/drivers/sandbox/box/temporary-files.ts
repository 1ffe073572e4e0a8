import { randomBytes } from 'node:crypto'
import { closeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ensureDirectory } from '../../../sys/fs/directories.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { ownProcess, processOwner } from '../../../sys/processes/process.ts'

/** A name in the directory for the boxes, for something that goes with whoever makes it: all can see whether he lives. */
export function ownedTemporaryName(what: 'new' | 'probe'): string {
  const { pid, start_time: started } = ownProcess()
  return `${what}-${pid}-${started}-${randomBytes(6).toString('hex')}`
}

/** Whether such a name is somebody's who lives, and so nobody else's to remove. */
export function isOwnerAlive(name: string): boolean {
  const [, pid, started] = /^(?:new|probe)-(\d+)-(\d+)-/.exec(name) ?? []
  return pid !== undefined && processOwner(Number(pid))?.start_time === started
}

/** Writes a file that many boxes are given or that is only remembered: whole or not at all, but not durable. */
export function writeAtomically(run: string, path: string, content: Buffer): void {
  const unfinished = join(run, ownedTemporaryName('new'))
  const fd = hostFs.createSync(unfinished, 0o600)
  try {
    hostFs.writeSync(fd, content)
  } finally {
    closeSync(fd)
  }
  ensureDirectory(dirname(path), 0o700)
  hostFs.renameSync(unfinished, path)
}
