import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { counted } from '../../../../sys/fs/crash-points.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'

/** The files by which the kernel's groups are told what to do. */
export const control = counted({
  /** The kernel takes it as one command. */
  write: (file: string, text: string): void => writeFileSync(file, text, { flag: 'r+' }),
  owner: (path: string): number => statSync(path).uid,
})

/** What one says; undefined if the group, or this file of it, is not there. */
export function readControl(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1')
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENODEV', 'EACCES', 'EOPNOTSUPP')) return undefined
    throw error
  }
}
