import { escapePath, unescapePath } from '../../../../domain/text/escape-path.ts'
import type { ChangeEntry, DiffEntry } from '../../../../domain/trees/diff.ts'

/** Something of a frozen tree, as a line of a manifest tells it. */
export interface Entry {
  /** From the top, as bytes; `.` is the top itself. */
  readonly path: string
  readonly kind: ChangeEntry['kind']
  /** Without the kind. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeNs: bigint
  /** Of the volume it was taken of. */
  readonly inode: string
  /** How many names the file had. Entries with the same inode are one file. */
  readonly links: number
  readonly size: number
  /** The name of a file's content, a link's target, `major:minor` of a device; else empty. */
  readonly content: string
  readonly attributes: string
}

const letters = { file: 'f', directory: 'd', symlink: 'l', fifo: 'p', socket: 's', block: 'b', char: 'c' } as const
const kinds = Object.fromEntries(Object.entries(letters).map(([kind, letter]) => [letter, kind])) as Readonly<
  Record<string, ChangeEntry['kind']>
>

export function formatEntry(entry: Entry): string {
  const { path, kind, mode, uid, gid, mtimeNs, inode, links, size, content, attributes } = entry
  const what = kind === 'symlink' ? escapePath(content) : content || '-'
  const about = `${letters[kind]} ${mode.toString(8)} ${uid} ${gid} ${mtimeNs} ${inode} ${links} ${size}`
  return `${escapePath(path)} ${about} ${what} ${attributes || '-'}`
}

export function parseEntry(line: string): Entry {
  const [
    path = '',
    letter = '',
    mode = '',
    uid,
    gid,
    mtimeNs = '',
    inode = '',
    links,
    size,
    what = '',
    attributes = '',
  ] = line.split(' ')
  const kind = kinds[letter] ?? 'file'
  return {
    path: unescapePath(path),
    kind,
    mode: parseInt(mode, 8),
    uid: Number(uid),
    gid: Number(gid),
    mtimeNs: BigInt(mtimeNs),
    inode,
    links: Number(links),
    size: Number(size),
    content: kind === 'symlink' ? unescapePath(what) : what === '-' ? '' : what,
    attributes: attributes === '-' ? '' : attributes,
  }
}

/** The line of the same thing in another tree. */
export function withInode(line: string, inode: string): string {
  let start = 0
  for (let field = 0; field < inodeField; field++) start = line.indexOf(' ', start) + 1
  return `${line.slice(0, start)}${inode}${line.slice(line.indexOf(' ', start))}`
}

/** Its place among the fields, from 0. */
const inodeField = 6

/** The line of the same thing under another name. */
export const withPath = (line: string, path: string): string => escapePath(path) + line.slice(line.indexOf(' '))

export const pathOfLine = (line: string): string => unescapePath(line.slice(0, line.indexOf(' ')))

/** The order of manifests: the top, then all others by the bytes of their paths. */
export function byPath(one: string, other: string): number {
  if (one === other) return 0
  if (one === '.' || other === '.') return one === '.' ? -1 : 1
  return one < other ? -1 : 1
}

/** The name of a file's content without taking the line apart; undefined for what is no file, or an empty one. */
export function contentOfLine(line: string): string | undefined {
  const start = line.indexOf(' ')
  if (line.charCodeAt(start + 1) !== 0x66) return undefined
  const end = line.lastIndexOf(' ')
  const content = line.slice(line.lastIndexOf(' ', end - 1) + 1, end)
  return content === '-' ? undefined : content
}

/** Whether the entry is one of several names, and has to be told from others by its inode. */
export const isLinked = ({ kind, links }: Entry): boolean => kind !== 'directory' && links > 1

/** The same without taking the line apart: six fields stand between the path and the number of names. */
export function isLinkedLine(line: string): boolean {
  let at = line.indexOf(' ')
  for (let field = 0; field < 6; field++) at = line.indexOf(' ', at + 1)
  return !line.startsWith('1 ', at + 1)
}

export const diffEntry = (entry: Entry, identity?: string): DiffEntry => ({
  kind: entry.kind,
  size: entry.size,
  mode: entry.mode,
  content: entry.content,
  owner: `${entry.uid}:${entry.gid}`,
  attributes: entry.attributes,
  ...(identity !== undefined && { identity }),
})
