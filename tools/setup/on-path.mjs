import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** @param {string} command */
export function isOnPath(command) {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return folders.some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
