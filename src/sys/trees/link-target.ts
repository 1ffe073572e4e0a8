import * as fs from 'node:fs'
import { hasCode } from '../syscalls/errno.ts'
import { atBytes } from './names.ts'

/** Where a link leads, as bytes; empty, as no link's is, if it is none any more. */
export function linkTarget(directory: number, name: string): string {
  try {
    return fs.readlinkSync(atBytes(directory, name), { encoding: 'latin1' })
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EINVAL')) return ''
    throw error
  }
}
