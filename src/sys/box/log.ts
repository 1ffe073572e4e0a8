import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { hostFs } from '../host-fs.ts'

/** A new file in a box's directory, for what others write to it. */
export const openLog = (directory: string, name: string): number => hostFs.createSync(join(directory, name), 0o600)

/** What the proxy of a box is told, for it alone to read. Answers the path. */
export function writeSettings(directory: string, text: string): string {
  const path = join(directory, 'proxy.json')
  const file = hostFs.createSync(path, 0o400)
  try {
    hostFs.writeSync(file, Buffer.from(text))
  } finally {
    closeSync(file)
  }
  return path
}
