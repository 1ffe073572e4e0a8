import { join } from 'node:path'
import type { LogId, KeptLogs } from '../../ports/kept-logs.ts'
import { ensureDirectory, pathExists } from '../../sys/fs/directories.ts'
import { readKeptEnd, readKeptLog } from '../sandbox/box/kept-log.ts'
import { removeTree } from '../../sys/safe-fs/index.ts'

/** A directory for each run, for its owner alone. */
export function dirKeptLogs({ directory }: { directory: string }): KeptLogs {
  const pathOf = (run: LogId): string => join(directory, run)
  return {
    async place(run) {
      ensureDirectory(directory, 0o700)
      ensureDirectory(pathOf(run), 0o700)
      return pathOf(run)
    },
    read: (run, options) => readKeptLog(pathOf(run), options),
    end: async (run) => readKeptEnd(pathOf(run)),
    async remove(run) {
      if (pathExists(directory)) await removeTree(directory, run)
    },
  }
}
