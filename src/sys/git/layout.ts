import { closeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hostFs } from '../fs/host-fs.ts'
import { formatPackedRefs, type Refs } from './refs.ts'

/** A repository, written by us: what `git init` would make, without the process, and its refs. */
export interface Layout {
  /** A whole ref name or an id. */
  readonly head: string
  readonly sha256: boolean
  readonly bare: boolean
  /** The refs will be in tables. */
  readonly reftable?: boolean
  readonly refs: Refs
  readonly shallow: readonly string[]
  /** Objects are found here too: for repositories of our own that are thrown away. */
  readonly alternates?: string
  readonly origin?: Origin
  /** Who commits there. */
  readonly user?: { readonly name: string; readonly email: string }
}

interface Origin {
  readonly url: string
  readonly fetch: string
  /** The branch that follows the one of the same name. */
  readonly branch: string | null
  /** What `origin` means by itself. */
  readonly defaultBranch: string | null
}

/** @param repository a directory that does not exist, in one that does */
export function makeRepository(repository: string, layout: Layout): void {
  for (const directory of ['', 'objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads', 'refs/tags']) {
    hostFs.mkdirSync(join(repository, directory), 0o755)
  }
  const files: Record<string, string | Buffer> = {
    HEAD: Buffer.from(layout.head.startsWith('refs/') ? `ref: ${layout.head}\n` : `${layout.head}\n`, 'latin1'),
    config: Buffer.from(configOf(layout), 'latin1'),
  }
  if (layout.refs.size > 0) files['packed-refs'] = formatPackedRefs(layout.refs)
  if (layout.shallow.length > 0) files['shallow'] = formatShallow(layout.shallow)
  if (layout.alternates !== undefined) files['objects/info/alternates'] = `${layout.alternates}\n`
  for (const [name, content] of Object.entries(files)) writeNew(join(repository, name), content)
  const main = layout.origin?.defaultBranch ?? null
  if (main === null) return
  for (const directory of ['refs/remotes', 'refs/remotes/origin']) hostFs.mkdirSync(join(repository, directory), 0o755)
  const target = Buffer.from(`ref: refs/remotes/origin/${main}\n`, 'latin1')
  writeNew(join(repository, 'refs/remotes/origin/HEAD'), target)
}

export const formatShallow = (commits: readonly string[]): string => commits.map((commit) => `${commit}\n`).join('')

export function writeNew(path: string, content: string | Buffer, mode = 0o644): void {
  const fd = hostFs.createSync(path, mode)
  try {
    hostFs.writeSync(fd, Buffer.from(content))
  } finally {
    closeSync(fd)
  }
}

/** Whole or not at all; made durable, as what is renamed into place has to be. */
export function replaceFile(path: string, content: string | Buffer): void {
  const temporary = join(dirname(path), `new-${process.pid}-${Math.random().toString(36).slice(2)}`)
  const fd = hostFs.createSync(temporary, 0o644)
  try {
    hostFs.writeSync(fd, Buffer.from(content))
    hostFs.fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  hostFs.renameSync(temporary, path)
}

function configOf({ sha256, bare, reftable = false, origin, user }: Layout): string {
  const lines = [
    '[core]',
    `\trepositoryformatversion = ${sha256 || reftable ? 1 : 0}`,
    '\tfilemode = true',
    `\tbare = ${bare}`,
    ...(bare ? [] : ['\tlogallrefupdates = true']),
    ...(sha256 ? ['[extensions]', '\tobjectformat = sha256'] : []),
    ...(reftable ? ['[extensions]', '\trefstorage = reftable'] : []),
  ]
  if (origin !== undefined) {
    lines.push('[remote "origin"]', `\turl = ${quoted(Buffer.from(origin.url).toString('latin1'))}`)
    lines.push(`\tfetch = ${quoted(origin.fetch)}`)
    if (origin.branch !== null) {
      lines.push(`[branch ${quoted(origin.branch)}]`, '\tremote = origin')
      lines.push(`\tmerge = ${quoted(`refs/heads/${origin.branch}`)}`)
    }
  }
  if (user !== undefined) lines.push('[user]', `\tname = ${quoted(user.name)}`, `\temail = ${quoted(user.email)}`)
  return `${lines.join('\n')}\n`
}

const quoted = (text: string): string =>
  `"${text.replace(/["\\]/g, (character) => `\\${character}`).replaceAll('\n', '\\n')}"`
