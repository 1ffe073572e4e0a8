import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { searchPath } from './search-path.mjs'

/** @param {string} command */
export function isOnPath(command) {
  return searchPath().some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
