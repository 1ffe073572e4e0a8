import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { syncDirectory } from '../../../sys/fs/directories.ts'
import { durableFile, readIfPresent } from '../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'

/**
 * What a home says about its pool, in `pool.json`. It is written before the first step of making or removing one and
 * says so, and is the last thing that goes: whoever comes after a crash knows what may be lying about.
 */
export interface PoolRecord {
  readonly version: 1
  readonly state: 'making' | 'ready' | 'removing'
  /** Of the image, which is sparse. */
  readonly bytes: number
}

const poolFile = (home: string): string => join(home, 'pool.json')
const unfinishedFile = (home: string): string => join(home, 'pool.json.new')
export const poolImage = (home: string): string => join(home, 'pool.img')

export function readPool(home: string): PoolRecord | undefined {
  const text = readIfPresent(poolFile(home))
  if (text === undefined) return undefined
  try {
    const { version, state, bytes } = JSON.parse(text) as PoolRecord
    if (version === 1 && ['making', 'ready', 'removing'].includes(state) && Number.isSafeInteger(bytes))
      return { version, state, bytes }
  } catch {
    // Told below, like any other content that is not ours.
  }
  throw new AwError('storage_unavailable', `${poolFile(home)} is not the record of a pool`, {
    hint: `It should read {"version":1,"state":"ready","bytes":SIZE}, with the size of ${poolImage(home)}`,
    data: { file: poolFile(home) },
  })
}

/** Replaces it in one step, durably. Everybody may read it: there is nothing secret in it. */
export function writePool(home: string, record: PoolRecord): void {
  const unfinished = unfinishedFile(home)
  durableFile.remove(unfinished)
  const fd = hostFs.createSync(unfinished, 0o644)
  try {
    hostFs.writeSync(fd, Buffer.from(`${JSON.stringify(record)}\n`))
    hostFs.fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  hostFs.renameSync(unfinished, poolFile(home))
  syncDirectory(home)
}

export function dropPool(home: string): void {
  durableFile.remove(unfinishedFile(home))
  durableFile.remove(poolFile(home))
  syncDirectory(home)
}
