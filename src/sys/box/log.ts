import { closeSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { durableFile } from '../durable-file.ts'
import { hostFs } from '../host-fs.ts'

/** A new file in a box's directory, for what others write to it. */
export const openLog = (directory: string, name: string): number => hostFs.createSync(join(directory, name), 0o600)

/**
 * A file that lasts longer than the box. One that has grown large is put aside, in the place of the one before it: the
 * proxy lets nothing through that it could not write down.
 */
export function appendTo(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > largest) hostFs.renameSync(path, `${path}.1`)
  durableFile.create(path)
  return hostFs.openAppendSync(path)
}

const largest = 32 * 2 ** 20

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
