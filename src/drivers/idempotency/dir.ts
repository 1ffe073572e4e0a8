import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { BeginResult, IdempotencyStore, RequestNote, StoredAnswer } from '../../ports/idempotency-store.ts'
import { ensureDirectory } from '../../sys/fs/directories.ts'
import { durableFile, filesBefore, readIfPresent } from '../../sys/fs/durable-file.ts'

interface Record {
  readonly note: RequestNote
  readonly answer?: StoredAnswer
}

/** One file for each key, in a directory that only the owner of the home can enter. One process at a time writes it. */
export function dirIdempotencyStore(directory: string): IdempotencyStore {
  const fileOf = (key: string): string => join(directory, `${hash('sha256', key)}.json`)
  const read = (key: string): Record | undefined => {
    const text = readIfPresent(fileOf(key))
    return text === undefined ? undefined : (JSON.parse(text) as Record)
  }
  const write = (key: string, record: Record): void => {
    const unfinished = `${fileOf(key)}.new`
    // A crash may have left the beginning of one.
    durableFile.remove(unfinished)
    durableFile.append(unfinished, JSON.stringify(record))
    durableFile.rename(unfinished, fileOf(key))
  }
  return {
    async begin(key, note): Promise<BeginResult> {
      ensureDirectory(directory, 0o700)
      const known = read(key)
      if (known?.answer !== undefined) return { state: 'done', note: known.note, answer: known.answer }
      if (known !== undefined) return { state: 'open', note: known.note }
      write(key, { note })
      return { state: 'new' }
    },
    async finish(key, answer) {
      const known = read(key)
      if (known !== undefined) write(key, { ...known, answer })
    },
    async forget(key) {
      durableFile.remove(fileOf(key))
    },
    async sweep(before) {
      const old = filesBefore(directory, before)
      for (const file of old) durableFile.remove(file)
      return old.length
    },
  }
}
