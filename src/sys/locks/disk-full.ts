import { closeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoName } from '../../domain/errno.ts'
import { AwError } from '../../domain/errors.ts'
import { hostFs } from '../fs/host-fs.ts'
import { primaryCode } from './sqlite-errors.ts'

/** Why nothing can be written where a file is. */
export type WriteObstacle = 'full' | 'read-only'

/**
 * Whether something failed for want of space, or because the file system is read-only. SQLite tells neither apart from
 * other failures (it says "disk I/O error" when it cannot extend a file), so where it may be one of them a file is tried.
 */
export function writeObstacle(error: unknown, file: string): WriteObstacle | undefined {
  const cause = error instanceof AwError ? error.cause : error
  const code = primaryCode(cause)
  if (code === 13) return 'full'
  if (code !== 0) return [8, 10, 14].includes(code) ? probeWrite(dirname(file)) : undefined
  return ofErrno(cause)
}

/** The error to tell, or `undefined` if it failed for another reason. */
export function diskFullError(error: unknown, file: string, what: string): AwError | undefined {
  const why = writeObstacle(error, file)
  if (why === undefined) return undefined
  if (why === 'read-only') {
    return new AwError('permission_denied', `${what}: the file system is read-only`, {
      hint: 'What only reads still works; mount it for writing, or choose another home with --home or AW_HOME',
      cause: error,
    })
  }
  return new AwError('disk_full', `${what}: the disk is full`, {
    hint: 'Make room on the disk of the home, for instance with aw destroy --purge; nothing of this was stored',
    cause: error,
  })
}

const errnos: Readonly<Record<string, WriteObstacle>> = { ENOSPC: 'full', EDQUOT: 'full', EROFS: 'read-only' }

const ofErrno = (error: unknown): WriteObstacle | undefined => errnos[errnoName(error)]

/** More than the 32 KiB that SQLite wants beside the log, so that what it could not have is missed here too. */
const triedBytes = 64 * 1024

/** Whether so much can be written there now, and if not, why. */
export function probeWrite(directory: string): WriteObstacle | undefined {
  const file = join(directory, `.room-${process.pid}`)
  try {
    const fd = hostFs.createSync(file, 0o600)
    try {
      hostFs.unlinkSync(file)
      hostFs.writeSync(fd, Buffer.alloc(triedBytes, 'room? '))
      hostFs.fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    return undefined
  } catch (error) {
    return ofErrno(error)
  }
}
