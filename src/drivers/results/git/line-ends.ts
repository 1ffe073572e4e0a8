import { join } from 'node:path'
import type { StagingRepository } from './staging-repository.ts'
import type { Tracked } from './tree-stream.ts'

/** Larger files are not looked at: nobody edits them line by line. */
const maxBytes = 8 * 1024 * 1024
const maxFiles = 5_000
const maxTogether = 128 * 1024 * 1024

interface Changed {
  readonly mode: string
  readonly old: string
  readonly now: string
  readonly path: string
}

/**
 * Where attributes have git write lines with CR LF into the work tree that it keeps with LF, a file that nobody touched
 * is another one than git has. Such a file comes as git would take it: if what git has of it knows no CR, and it has no
 * other than before each LF. Without such attributes nothing is converted.
 * @returns the tree with these files
 */
export async function withNormalizedLineEnds(
  staging: StagingRepository,
  before: string,
  tracked: Tracked,
  tree: string,
): Promise<string> {
  if (!(await convertsLineEnds(staging, before, tracked))) return tree
  const changed = await changedFiles(staging, before, tree)
  const contents = await contentsOf(
    staging,
    changed.flatMap(({ old, now }) => [old, now]),
  )
  const kept: string[] = []
  for (const { mode, old, now, path } of changed) {
    const [was, is] = [contents.get(old), contents.get(now)]
    if (was === undefined || is === undefined || was.includes('\r') || !is.includes('\r\n')) continue
    const plain = is.replaceAll('\r\n', '\n')
    if (plain.includes('\r') || plain.includes('\0')) continue
    const id = plain === was ? old : await store(staging, plain)
    kept.push(`${mode} ${id}\t${path}\0`)
  }
  return kept.length === 0 ? tree : replaced(staging, tree, kept)
}

async function convertsLineEnds(staging: StagingRepository, before: string, { files }: Tracked): Promise<boolean> {
  const paths = [...files].filter((path) => /(?:^|\/)\.gitattributes$/.test(path)).slice(0, maxFiles)
  if (paths.length === 0) return false
  const listed = await staging.ask(['ls-tree', '-r', '-z', '--full-tree', before])
  const wanted = new Set(paths)
  const ids = listed.split('\0').flatMap((line) => {
    const [, id, path = ''] = /^\d+ blob ([0-9a-f]+)\t([^]+)$/.exec(line) ?? []
    return id !== undefined && wanted.has(path) ? [id] : []
  })
  return [...(await contentsOf(staging, ids)).values()].some((text) => /\b(?:text|eol|crlf)\b/.test(text))
}

async function changedFiles({ ask }: StagingRepository, before: string, tree: string): Promise<Changed[]> {
  const fields = (await ask(['diff-tree', '-r', '--raw', '-z', '--no-abbrev', '--no-renames', before, tree])).split(
    '\0',
  )
  const found: Changed[] = []
  for (let at = 0; at + 1 < fields.length && found.length < maxFiles; at += 2) {
    const [, mode, old, now] = /^:100\d{3} (100\d{3}) ([0-9a-f]+) ([0-9a-f]+) M$/.exec(fields[at] ?? '') ?? []
    const path = fields[at + 1]
    if (mode !== undefined && old !== undefined && now !== undefined && path !== undefined)
      found.push({ mode, old, now, path })
  }
  return found
}

/** As bytes (latin1), of those that are not large, as long as they are not too much together. */
async function contentsOf({ ask }: StagingRepository, ids: readonly string[]): Promise<Map<string, string>> {
  const asked = lines([...new Set(ids)])
  if (asked === '') return new Map()
  let left = maxTogether
  const small: string[] = []
  for (const line of (await ask(['cat-file', '--batch-check=%(objectname) %(objectsize)'], { input: asked })).split(
    '\n',
  )) {
    const [id = '', size] = line.split(' ')
    if (size === undefined || Number(size) > Math.min(maxBytes, left)) continue
    left -= Number(size)
    small.push(id)
  }
  return parsed(await ask(['cat-file', '--batch'], { input: lines(small) }))
}

const lines = (ids: readonly string[]): string => ids.map((id) => `${id}\n`).join('')

/** Each is a line that tells its id, its kind and its length, then so many bytes and a line end. */
function parsed(batch: string): Map<string, string> {
  const contents = new Map<string, string>()
  for (let at = 0; at < batch.length;) {
    const end = batch.indexOf('\n', at)
    const [id = '', , size = '0'] = batch.slice(at, end).split(' ')
    contents.set(id, batch.slice(end + 1, end + 1 + Number(size)))
    at = end + 1 + Number(size) + 1
  }
  return contents
}

const store = async ({ ask }: StagingRepository, content: string): Promise<string> =>
  (await ask(['hash-object', '-w', '--stdin', '--no-filters'], { input: [Buffer.from(content, 'latin1')] })).trim()

async function replaced(
  { ask, repository }: StagingRepository,
  tree: string,
  entries: readonly string[],
): Promise<string> {
  const env = { GIT_INDEX_FILE: join(repository, 'index-of-results') }
  await ask(['read-tree', tree], { env })
  await ask(['update-index', '-z', '--index-info'], { env, input: [Buffer.from(entries.join(''), 'latin1')] })
  return (await ask(['write-tree'], { env })).trim()
}
