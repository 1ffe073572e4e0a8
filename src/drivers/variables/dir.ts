import { join } from 'node:path'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { Variable, Variables } from '../../ports/variables.ts'
import { durableFile, readIfPresent } from '../../sys/fs/durable-file.ts'
import { hostFs } from '../../sys/fs/host-fs.ts'

/** One file for each workspace, which its owner alone can read, in a directory that only the owner can enter. */
export function dirVariables({ directory }: { directory: string }): Variables {
  const fileOf = (id: WorkspaceId): string => join(directory, `${id}.json`)
  return {
    async read(id) {
      const text = readIfPresent(fileOf(id))
      return text === undefined ? {} : (JSON.parse(text) as Record<string, Variable>)
    },
    async write(id, variables) {
      const unfinished = `${fileOf(id)}.new`
      // A crash may have left the beginning of one.
      durableFile.remove(unfinished)
      if (Object.keys(variables).length === 0) return durableFile.remove(fileOf(id))
      durableFile.append(unfinished, JSON.stringify(variables))
      hostFs.chmodSync(unfinished, 0o400)
      durableFile.rename(unfinished, fileOf(id))
    },
  }
}
