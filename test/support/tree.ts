import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'

/**
 * A tree as data: what tests make, and what they find. A path is written as the bytes of its name, one character each
 * (`bytesOf('ä')`), so that names that are not text can be told too.
 */
export type Tree = Readonly<Record<string, Entry>>

export type Entry =
  | { readonly kind: 'file'; readonly content: string; readonly mode?: number; readonly mtime?: number }
  | { readonly kind: 'directory'; readonly mode?: number; readonly mtime?: number }
  | { readonly kind: 'symlink'; readonly target: string }
  /** Another name of a file that comes before it. */
  | { readonly kind: 'hardlink'; readonly to: string }
  | { readonly kind: 'fifo' }

export const bytesOf = (text: string): string => Buffer.from(text).toString('latin1')
const raw = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')])

/** Makes a tree on the host, below a directory that exists. */
export function makeTree(root: string, tree: Tree): void {
  const entries = Object.entries(tree)
  for (const [path, entry] of entries) {
    const at = raw(root, path)
    if (entry.kind === 'directory') fs.mkdirSync(at, { recursive: true })
    else if (entry.kind === 'symlink') fs.symlinkSync(Buffer.from(entry.target, 'latin1'), at)
    else if (entry.kind === 'hardlink') fs.linkSync(raw(root, entry.to), at)
    else if (entry.kind === 'fifo') execFileSync('mkfifo', [at.toString()])
    else fs.writeFileSync(at, Buffer.from(entry.content, 'latin1'))
  }
  // From the inside out: what is in a directory changes its time, and may need its permission.
  for (const [path, entry] of entries.toReversed()) {
    if (entry.kind !== 'file' && entry.kind !== 'directory') continue
    if (entry.mode !== undefined) fs.chmodSync(raw(root, path), entry.mode)
    if (entry.mtime !== undefined) fs.utimesSync(raw(root, path), entry.mtime, entry.mtime)
  }
}

export interface ReadOptions {
  /** Times differ from run to run unless they were set. */
  readonly times?: boolean
  readonly modes?: boolean
  /** Paths that are left out, with what is below them. */
  readonly except?: readonly string[]
}

/** Reads a tree of the host, in the order of names. */
export function readTree(root: string, options: ReadOptions = {}): Tree {
  const { times = false, modes = true, except = [] } = options
  const tree: Record<string, Entry> = {}
  const seen = new Map<string, string>()
  const visit = (prefix: string): void => {
    const names = fs.readdirSync(prefix === '' ? root : raw(root, prefix), { encoding: 'buffer' })
    for (const name of names.map((bytes) => bytes.toString('latin1')).toSorted()) {
      const path = prefix === '' ? name : `${prefix}/${name}`
      if (except.includes(path)) continue
      const stat = fs.lstatSync(raw(root, path))
      const about = { ...(modes && { mode: stat.mode & 0o7777 }), ...(times && { mtime: stat.mtimeMs / 1000 }) }
      const twin = stat.isFile() && stat.nlink > 1 ? seen.get(`${stat.dev}:${stat.ino}`) : undefined
      if (twin !== undefined) tree[path] = { kind: 'hardlink', to: twin }
      else if (stat.isDirectory()) tree[path] = { kind: 'directory', ...about }
      else if (stat.isSymbolicLink())
        tree[path] = {
          kind: 'symlink',
          target: fs.readlinkSync(raw(root, path), { encoding: 'buffer' }).toString('latin1'),
        }
      else if (stat.isFile()) tree[path] = { kind: 'file', content: contentOf(raw(root, path)), ...about }
      else tree[path] = { kind: 'fifo' }
      if (stat.isFile()) seen.set(`${stat.dev}:${stat.ino}`, path)
      if (stat.isDirectory()) visit(path)
    }
  }
  visit('')
  return tree
}

/** Long ones are told by their hash: a difference must stay readable. */
function contentOf(path: Buffer): string {
  const bytes = fs.readFileSync(path)
  return contentText(bytes)
}

export const contentText = (bytes: Buffer): string =>
  bytes.length <= 4096
    ? bytes.toString('latin1')
    : `${bytes.length} bytes, sha256 ${createHash('sha256').update(bytes).digest('hex')}`
