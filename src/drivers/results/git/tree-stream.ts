import * as fs from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import { folderRules, type FolderRules } from '../../../domain/sources/folder-rules.ts'
import { isDotGitName } from '../../../domain/git/names.ts'
import { quoted } from '../../../domain/git/patch.ts'
import { readRules } from '../../../sys/copy/read-rules.ts'
import { at, directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { linkTarget } from '../../../sys/trees/link-target.ts'
import { atBytes } from '../../../sys/trees/names.ts'
import { decodeStat, type StatFields } from '../../../sys/trees/stat.ts'
import { openIfUnchanged } from '../../../sys/trees/unlock.ts'
import { type Visit, walkTree } from '../../../sys/trees/walk.ts'

export interface TreeOptions {
  /** Names at the top that are none of its content. */
  readonly exclude: readonly string[]
  /** Also what git ignores there. */
  readonly ignored: boolean
  /** What git has of it already: such a file is not ignored, and a directory may stand for another repository. */
  readonly tracked: Tracked
  /** Of all files together. */
  readonly maxBytes: number
}

/** Paths as bytes (latin1). */
export interface Tracked {
  readonly files: ReadonlySet<string>
  /** Repositories in it, with the commit of each. */
  readonly links: ReadonlyMap<string, string>
  /** What it has below the names that are excluded: that stays as it is. */
  readonly excluded: readonly { readonly mode: string; readonly id: string; readonly path: string }[]
}

export const nothingTracked: Tracked = { files: new Set(), links: new Map(), excluded: [] }

export interface Report {
  files: number
  bytes: number
  /** How many things git ignores; a directory of them counts as one. */
  ignored: number
  readonly leftOut: { path: string; reason: OmittedKind }[]
}

/** `submodule`: what is in it; the commit that it was at stays. */
export type OmittedKind =
  | 'fifo'
  | 'socket'
  | 'device'
  | 'reserved name'
  | 'link in the place of .gitmodules'
  | 'submodule'

const chunkSize = 1024 * 1024

/**
 * The files below an open directory, as `git fast-import` reads them: the bytes and links that are there, whatever
 * attributes say, and of modes whether a file can be executed. Nothing of a repository in it is looked at but
 * `.git/info/exclude`. The tree must not change meanwhile: that would be an error.
 */
export function* treeStream(top: number, ref: string, options: TreeOptions, report: Report): Generator<Buffer> {
  yield text(`feature done\ncommit ${ref}\ncommitter aw <aw> 0 +0000\ndata 0\n`)
  for (const { mode, id, path } of options.tracked.excluded) yield text(`M ${mode} ${id} ${quoted(path)}\n`)
  const entered = new Map<string, FolderRules | undefined>([['', rulesAt(top, options.ignored)]])
  const kept = heldDirectories(options.tracked)
  const enters = (path: string): boolean => entered.has(path)
  for (const visit of walkTree(top, { exclude: options.exclude, enters })) {
    const facts = decodeStat(visit.print)
    const verdict = judge(visit, facts)
    if (verdict === 'out') continue
    if (verdict === 'enter') entered.set(visit.path, below(visit))
    else if (verdict !== 'take') yield text(`M 160000 ${verdict.link} ${quoted(visit.path)}\n`)
    else yield* entry(visit, facts, options, report)
  }
  yield text('done\n')

  function judge({ path, name, directory }: Visit, { kind }: StatFields): 'out' | 'take' | 'enter' | { link: string } {
    const leave = (reason: OmittedKind): 'out' => {
      report.leftOut.push({ path, reason })
      return 'out'
    }
    if (isDotGitName(name)) return name === '.git' ? 'out' : leave('reserved name')
    const link = kind === 'directory' ? options.tracked.links.get(path) : undefined
    if (link !== undefined) {
      if (fs.readdirSync(at(directory, text(name))).length > 0) leave('submodule')
      return { link }
    }
    const isHeld = kind === 'directory' ? kept.has(path) : options.tracked.files.has(path)
    const rules = entered.get(path.slice(0, Math.max(0, path.lastIndexOf('/'))))
    if (!isHeld && rules?.verdict(name, kind === 'directory') === 'out') {
      report.ignored += 1
      return 'out'
    }
    if (kind === 'directory') return 'enter'
    if (kind === 'symlink' && name.toLowerCase() === '.gitmodules') return leave('link in the place of .gitmodules')
    if (kind === 'file' || kind === 'symlink') return 'take'
    return leave(kind === 'fifo' || kind === 'socket' ? kind : 'device')
  }

  /** What is in a directory that is ignored itself, and of which git has some files, is ignored too. */
  function below({ path, name, directory }: Visit): FolderRules | undefined {
    const above = entered.get(path.slice(0, Math.max(0, path.lastIndexOf('/'))))
    if (above === undefined) return undefined
    if (above === nothing || above.verdict(name, true) === 'out') return nothing
    const fd = fs.openSync(atBytes(directory, name), directoryFlags)
    try {
      return above.below(name, 'in', readRules(fd))
    } finally {
      fs.closeSync(fd)
    }
  }
}

const nothing: FolderRules = { verdict: () => 'out', below: () => nothing }

const rulesAt = (top: number, ignored: boolean): FolderRules | undefined =>
  ignored ? undefined : folderRules({ ignored: 'none' }, readRules(top))

const text = (line: string): Buffer => Buffer.from(line, 'latin1')

/** All directories that something tracked is in. */
function heldDirectories({ files, links }: Tracked): Set<string> {
  const found = new Set<string>()
  for (const path of [...files, ...links.keys()]) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      if (found.has(path.slice(0, at))) break
      found.add(path.slice(0, at))
    }
  }
  return found
}

function* entry(visit: Visit, facts: StatFields, { maxBytes }: TreeOptions, report: Report): Generator<Buffer> {
  const { path, name, directory } = visit
  report.files += 1
  if (facts.kind === 'symlink') {
    const target = text(linkTarget(directory, name))
    yield Buffer.concat([text(`M 120000 inline ${quoted(path)}\ndata ${target.length}\n`), target, text('\n')])
    return
  }
  report.bytes += facts.size
  if (report.bytes > maxBytes) throw tooLarge(path, maxBytes)
  const mode = (facts.mode & 0o100) === 0 ? '100644' : '100755'
  yield text(`M ${mode} inline ${quoted(path)}\ndata ${facts.size}\n`)
  yield* contentOf(visit, facts.size)
  yield text('\n')
}

function* contentOf({ directory, name, path, print }: Visit, size: number): Generator<Buffer> {
  const fd = openIfUnchanged(directory, name, print)
  if (fd === undefined) throw changed(path)
  try {
    for (let done = 0; done < size;) {
      const chunk = Buffer.allocUnsafe(Math.min(chunkSize, size - done))
      const got = fs.readSync(fd, chunk, 0, chunk.length, done)
      if (got === 0) throw changed(path)
      done += got
      yield chunk.subarray(0, got)
    }
  } finally {
    fs.closeSync(fd)
  }
}

const shown = (path: string): string => JSON.stringify(text(path).toString())

const changed = (path: string): AwError =>
  new AwError('export_failed', `The tree was changed while it was read: ${shown(path)}`, { hint: 'Try again' })

const tooLarge = (path: string, maxBytes: number): AwError =>
  new AwError(
    'export_failed',
    `There is no room for what the files hold: with ${shown(path)} it is over ${maxBytes} bytes`,
    {
      hint: 'Remove large files from the workspace, have git ignore them (.gitignore), or make room with aw gc',
      data: { max_bytes: maxBytes },
    },
  )
