import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import type { Handles } from '../handles.ts'

/** Where the proxy of a box reads what it is told: its supervisor passes the file on, which has no name. */
export const settingsPath = '/proc/self/fd/5'

/**
 * What the proxy of a box is told, in a file without a name that lives as long as its supervisor: there may be keys in it,
 * which nobody else is to find, also after a crash. Answers its number in the supervisor.
 */
export function writeUnlinkedSettings(directory: string, text: string, held: Handles): number {
  const path = join(directory, 'proxy.json')
  const file = hostFs.createSync(path, 0o400)
  try {
    hostFs.writeSync(file, Buffer.from(text))
  } finally {
    closeSync(file)
  }
  const number = held.open(path)
  hostFs.unlinkSync(path)
  return number
}
