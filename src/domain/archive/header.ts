import { archiveRefused } from './refusals.ts'

/** What an archive of ours says about itself, in its first entry. */
export interface ArchiveHeader {
  readonly format: 'aw-archive'
  readonly version: number
  /** What whoever made it had to say: when, of what, with which driver. */
  readonly [key: string]: unknown
}

const version = 1
const reservedName = '.aw-archive'

/** A name that the tree does not have at its top. */
export function freeReservedName(names: ReadonlySet<string>): string {
  for (let number = 0; ; number++) {
    const name = number === 0 ? reservedName : `${reservedName}-${number}`
    if (!names.has(name)) return name
  }
}

/** That name, if the first entry of an archive has this path; undefined if the archive is not ours. */
export const reservedNameIn = (path: string): string | undefined =>
  /^(\.aw-archive(?:-[1-9][0-9]{0,8})?)\/header\.json$/.exec(path)?.[1]

export const formatHeader = (about: Readonly<Record<string, unknown>>): Buffer =>
  Buffer.from(`${JSON.stringify({ ...about, format: 'aw-archive', version }, undefined, 2)}\n`)

export function parseHeader(bytes: Buffer): ArchiveHeader {
  const header = parse(bytes)
  if (header['format'] !== 'aw-archive' || !Number.isSafeInteger(header['version']))
    throw archiveRefused('manifest', 'its first entry is damaged')
  if (header['version'] !== version) throw archiveRefused('newer', `it has the format ${String(header['version'])}`)
  return header as unknown as ArchiveHeader
}

function parse(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch (error) {
    throw archiveRefused('manifest', 'its first entry is damaged', undefined, error)
  }
}
