import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { Texts } from '../../ports/texts.ts'
import { durableFile, readIfPresent } from '../../sys/durable-file.ts'
import { hostFs } from '../../sys/host-fs.ts'
import { hasCode } from '../../sys/links.ts'

/** One file for each workspace in a directory that only the owner of the home can enter. */
export function dirTexts({ directory }: { directory: string }): Texts {
  const fileOf = (id: WorkspaceId): string => join(directory, `${id}.json`)
  return {
    async put(id, text) {
      const unfinished = `${fileOf(id)}.new`
      durableFile.append(unfinished, text)
      durableFile.rename(unfinished, fileOf(id))
      return { sha256: hashOf(text), length: text.length }
    },
    async get(id, ref) {
      const text = readIfPresent(fileOf(id))
      if (text === undefined || hashOf(text) === ref.sha256) return text
      throw new AwError('log_damaged', `The documents of ${id} are not the ones that the log knows`, {
        hint: 'Something other than aw changed them; restore the home from a backup',
        data: { id },
      })
    },
    async remove(id) {
      for (const file of [fileOf(id), `${fileOf(id)}.new`]) {
        try {
          hostFs.unlinkSync(file)
        } catch (error) {
          if (!hasCode(error, 'ENOENT')) throw error
        }
      }
    },
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
