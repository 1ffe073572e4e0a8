import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { textRef } from '../../domain/text/ref.ts'
import type { TextOwner, Texts } from '../../ports/texts.ts'
import { durableFile, readIfPresent } from '../../sys/fs/durable-file.ts'
import { hostFs } from '../../sys/fs/host-fs.ts'
import { hasCode } from '../../sys/syscalls/errno.ts'

/** One file for each workspace in a directory that only the owner of the home can enter. */
export function dirTexts({ directory }: { directory: string }): Texts {
  const fileOf = (id: TextOwner): string => join(directory, `${id}.json`)
  return {
    async put(id, text) {
      const unfinished = `${fileOf(id)}.new`
      // A crash may have left the beginning of one.
      remove(unfinished)
      durableFile.append(unfinished, text)
      durableFile.rename(unfinished, fileOf(id))
    },
    async get(id, ref) {
      const text = readIfPresent(fileOf(id))
      if (text === undefined || textRef(text).sha256 === ref.sha256) return text
      throw new AwError('log_damaged', `The documents of ${id} are not the ones that the log knows`, {
        hint: 'Something other than aw changed them; restore the home from a backup',
        data: { id },
      })
    },
    async remove(id) {
      for (const file of [fileOf(id), `${fileOf(id)}.new`]) remove(file)
    },
  }
}

function remove(file: string): void {
  try {
    hostFs.unlinkSync(file)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}
