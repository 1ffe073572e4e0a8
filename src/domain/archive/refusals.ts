import { AwError } from '../errors.ts'
import { quotePath } from '../paths.ts'

/** Why an archive is not read on: what is wrong with it, in a word that programs may branch on. */
export type Fault =
  | 'not_an_archive'
  | 'newer'
  | 'truncated'
  | 'trailing'
  | 'compression'
  | 'header'
  | 'number'
  | 'extended_header'
  | 'sparse_map'
  | 'unsupported_entry'
  | 'path'
  | 'order'
  | 'duplicate'
  | 'link'
  | 'through_link'
  | 'manifest'

const hints: Partial<Record<Fault, string>> = {
  not_an_archive: 'Archives are tar files: plain, or compressed with zstd or gzip. Unpack others, and give the folder',
  newer: 'Use the version of aw that wrote it, or a newer one',
  truncated: 'Fetch or copy it again; if it was written with aw, export it again',
  manifest: 'Fetch or copy it again; nothing of it was taken over',
}
const otherwise = 'Nothing of it was taken over; make the archive again, or unpack it elsewhere and give the folder'

/** The whole archive is refused. */
export function archiveRefused(fault: Fault, what: string, path?: string, cause?: unknown): AwError {
  const where = path === undefined ? '' : `: ${quotePath(asText(path))}`
  return new AwError('source_failed', `The archive cannot be used: ${what}${where}`, {
    hint: hints[fault] ?? otherwise,
    data: { reason: fault, ...(path !== undefined && { path: asText(path) }) },
    ...(cause !== undefined && { cause }),
  })
}

const unlessTrusted =
  'It may have been made to do harm, such as to fill the disk; if you have made it yourself, take it with: aw import --trust'
const limitHints: Readonly<Record<string, string>> = {
  bytes: 'Make room on the disk, and try again',
  attributes: 'Remove some of them, and try again',
  entries: unlessTrusted,
  pathBytes: unlessTrusted,
  depth: unlessTrusted,
  ratio: unlessTrusted,
}

export function overLimit(limit: string, most: number, what: string): AwError {
  return new AwError('limit_reached', `The archive ${what}, and ${most} is the limit`, {
    hint: limitHints[limit] ?? otherwise,
    data: { limit, most },
  })
}

/** Bytes (latin1) as people read them. */
export const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

/** A disk that is away must not be replaced by a directory on another one. */
export const archiveDirectoryMissing = (directory: string): AwError =>
  new AwError('file_not_found', `The archive directory ${directory} is missing, though archives were written to it`, {
    hint: `If its disk is not mounted, mount it; if the archives are gone for good, make it: mkdir -p ${directory}`,
    data: { path: directory },
  })
