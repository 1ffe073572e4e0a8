import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { hostFs } from '../host-fs.ts'

/** What the proxy of a box is told, for whoever starts it alone to read. Answers the path. */
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
