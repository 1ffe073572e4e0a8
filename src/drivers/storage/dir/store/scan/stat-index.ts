import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { hostFs } from '../../../../../sys/fs/host-fs.ts'
import type { StatFingerprint } from '../../../../../sys/trees/stat.ts'
import { pathOfLine } from '../entry.ts'

/**
 * What was known of a volume when it was last read: for each path what the kernel told about it, and its line of the
 * manifest. A file of which the kernel still tells the same is not read again. It is only a memory: without it, or with
 * one that is not whole, everything is read.
 *
 * What it tells includes the time of the last change of anything about a file (ctime), which no program can set. A change
 * in the same tick of the kernel's clock as the one before would not show: so an entry is remembered only if its ctime is
 * clearly older than its reading. Nor would a write through a mapped page that was dirty already: so what is dirty of a
 * file is written out before it is read. Times are compared for equality only, so that a clock which is set
 * back hides nothing.
 */
export interface KnownEntry {
  readonly print: StatFingerprint
  readonly line: string
}

export interface StatIndex {
  /** Which sweep of the objects was the last before it was made: their contents may be gone since. */
  readonly sweep: string
  readonly entries: ReadonlyMap<string, KnownEntry>
}

const magic = 'aw-index 1'
const printLength = 80
/** No sweep is called so: nothing that is remembered with it is taken to be in the store. */
export const noSweep = 'none'

const none: StatIndex = { sweep: '', entries: new Map() }

export function readIndex(file: string): StatIndex {
  let bytes: Buffer
  try {
    bytes = fs.readFileSync(file)
  } catch {
    return none
  }
  const body = bytes.subarray(0, Math.max(0, bytes.length - 64))
  if (bytes.toString('latin1', body.length) !== hash('sha256', body)) return none
  const text = body.toString('latin1')
  const start = text.indexOf('\n') + 1
  const [name, version, sweep = '', count] = text.slice(0, start - 1).split(' ')
  if (`${name} ${version}` !== magic) return none
  const prints = start + Number(count) * printLength
  const lines = Number(count) === 0 ? [] : text.slice(prints).split('\n')
  const entries = lines.map((line, i): [string, KnownEntry] => {
    const from = start + i * printLength
    return [pathOfLine(line), { print: text.slice(from, from + printLength), line }]
  })
  return { sweep, entries: new Map(entries) }
}

/** Written beside it and renamed. That it is whole is seen by its hash, so nobody waits for the disk. */
export function writeIndex(file: string, temporary: string, sweep: string, entries: Iterable<KnownEntry>): void {
  const known = [...entries]
  const prints = known.map(({ print }) => print).join('')
  const lines = known.map(({ line }) => line).join('\n')
  const body = Buffer.from(`${magic} ${sweep} ${known.length}\n${prints}${lines}`, 'latin1')
  const fd = hostFs.createSync(temporary, 0o600)
  try {
    hostFs.writeSync(fd, Buffer.concat([body, Buffer.from(hash('sha256', body), 'latin1')]))
  } finally {
    fs.closeSync(fd)
  }
  hostFs.renameSync(temporary, file)
}
