import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { AwError } from '../../../../domain/errors.ts'
import { escapePath } from '../../../../domain/text/escape-path.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { contentOfLine, parseEntry, pathOfLine, type Entry } from './entry.ts'

/**
 * What a frozen tree is: one file, described in `docs/spec/content-store.md`. Lines are kept as they are and taken apart
 * only where one is asked for: most of them go from one manifest to the next unread.
 */
export interface Manifest {
  readonly consistency: 'atomic' | 'fuzzy'
  /** The contents of its files were not stored with it. */
  readonly listed?: boolean
  readonly lines: readonly string[]
}

const magic = 'aw-manifest 1'

export function formatManifest({ consistency, lines, listed = false }: Manifest): Buffer {
  const kind = listed ? 'listed' : consistency
  const text = Buffer.from(`${magic}\n${kind}\n${lines.map((line) => `${line}\n`).join('')}`, 'latin1')
  return Buffer.concat([text, Buffer.from(`sha256 ${hash('sha256', text)}\n`)])
}

export const manifestDamaged = (file: string, why: string): AwError =>
  new AwError('filesystem_error', `The snapshot ${file} is damaged: ${why}`, {
    hint: 'Other snapshots may be whole; to see which: aw verify',
    data: { file, reason: 'damaged' },
  })

function parseManifest(bytes: Buffer, file: string): Manifest {
  const text = bytes.toString('latin1')
  const end = text.lastIndexOf('\n', text.length - 2) + 1
  if (text.slice(end) !== `sha256 ${hash('sha256', bytes.subarray(0, end))}\n`)
    throw manifestDamaged(file, 'its hash is wrong')
  const [first, kind, ...lines] = text.slice(0, end - 1).split('\n')
  if (first !== magic) throw manifestDamaged(file, `it is of another version: ${String(first)}`)
  if (kind === 'listed') return { consistency: 'atomic', lines, listed: true }
  return { consistency: kind === 'atomic' ? 'atomic' : 'fuzzy', lines }
}

/** Whether it is one that needs no contents, by its first bytes alone. */
export function isListed(file: string): boolean {
  const start = Buffer.alloc(listedStart.length)
  const fd = fs.openSync(file, 'r')
  try {
    fs.readSync(fd, start, 0, start.length, 0)
    return start.toString('latin1') === listedStart
  } finally {
    fs.closeSync(fd)
  }
}

const listedStart = `${magic}\nlisted\n`

/** Undefined if there is none. */
export function readManifest(file: string): Manifest | undefined {
  try {
    return parseManifest(fs.readFileSync(file), file)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Undefined also if it is damaged. */
export function readIfWhole(file: string): Manifest | undefined {
  try {
    return readManifest(file)
  } catch (error) {
    if (error instanceof AwError) return undefined
    throw error
  }
}

export const entriesOf = ({ lines }: Manifest): Entry[] => lines.map(parseEntry)

export const linesByPath = ({ lines }: Manifest): Map<string, string> =>
  new Map(lines.map((line) => [pathOfLine(line), line]))

export function entryAt({ lines }: Manifest, path: string): Entry | undefined {
  const start = `${escapePath(path)} `
  const line = lines.find((one) => one.startsWith(start))
  return line === undefined ? undefined : parseEntry(line)
}

/** The names of all contents that it needs; one that is only a list needs none. */
export function* contentsOf({ lines, listed }: Manifest): Generator<string> {
  if (listed) return
  for (const line of lines) {
    const content = contentOfLine(line)
    if (content !== undefined) yield content
  }
}
