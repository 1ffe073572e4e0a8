import { createHash } from 'node:crypto'
import { AwError } from '../../domain/errors.ts'
import { isRefName } from '../../domain/git/ref.ts'
import type { Folder } from './folder.ts'

/** Refs as git keeps them in plain files. Names are bytes, as latin1 text; ids are 40 or 64 hexadecimal digits. */

export interface Ref {
  readonly id: string
  /** What a tag leads to, where the file says so. */
  readonly peeled?: string | undefined
}

export type Refs = ReadonlyMap<string, Ref>

export const nameBytes = (name: string): string => Buffer.from(name).toString('latin1')
export const nameText = (name: string): string => Buffer.from(name, 'latin1').toString()

/** On a branch, which need not exist, or at a commit. */
export type Head = { readonly ref: string } | { readonly id: string }

export function readHead(git: Folder): Head {
  // Long ago it was a link.
  const content = git.link('HEAD') ?? git.read('HEAD', maxRefBytes)?.toString('latin1') ?? ''
  const ref = /^(?:ref:\s*)?(refs\/heads\/[^\s]+)\s*$/.exec(content)?.[1]
  if (ref !== undefined && isRefName(nameText(ref))) return { ref }
  if (idPattern.test(content.trim())) return { id: content.trim() }
  throw new AwError('source_failed', 'The HEAD of the repository says nothing that can be understood')
}

/** One ref by its whole name. One file, or two: how many refs there are does not matter much. */
export function readRef(common: Folder, name: string, depth = 0): Ref | undefined {
  const content = fileAt(common, name)?.toString('latin1').trim()
  const next = content === undefined ? undefined : /^ref:\s*(refs\/\S+)$/.exec(content)?.[1]
  if (next !== undefined) return depth < 5 ? readRef(common, next, depth + 1) : undefined
  if (content !== undefined && idPattern.test(content)) return { id: content }
  return packedRef(common.read('packed-refs', maxPackedBytes), name)
}

/**
 * All below the prefixes, like `refs/heads/`; those in files of their own before those in the common one. Names that
 * git would not have made are left out.
 */
export function readRefs(common: Folder, prefixes: readonly string[]): Refs {
  const refs = new Map<string, Ref>()
  for (const [name, ref] of packedRefs(common.read('packed-refs', maxPackedBytes))) {
    if (prefixes.some((prefix) => name.startsWith(prefix)) && isRefName(nameText(name))) refs.set(name, ref)
  }
  for (const prefix of prefixes) {
    for (const name of looseNames(common, prefix.slice(0, -1))) {
      const ref = isRefName(nameText(name)) ? readRef(common, name) : undefined
      if (ref !== undefined) refs.set(name, ref)
    }
  }
  return refs
}

export function formatPackedRefs(refs: Refs): Buffer {
  const lines = [...refs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, { id }]) => `${id} ${name}\n`)
  return Buffer.from(`# pack-refs with: sorted \n${lines.join('')}`, 'latin1')
}

const idPattern = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/
const maxRefBytes = 8192
const maxPackedBytes = 512 * 1024 * 1024

/** A directory has the place of the file when refs begin with its name. */
function fileAt(common: Folder, name: string): Buffer | undefined {
  const parent = name.slice(0, name.lastIndexOf('/'))
  try {
    return common.read(name, maxRefBytes)
  } catch (error) {
    using folder = common.folder(parent)
    const last = name.slice(parent.length + 1)
    if (folder?.names().some((entry) => entry.name === last && entry.directory)) return undefined
    throw error
  }
}

function* looseNames(common: Folder, path: string, depth = 0): Generator<string> {
  if (depth > 64) return
  for (const { name, directory } of common.names(path)) {
    if (directory) yield* looseNames(common, `${path}/${name}`, depth + 1)
    else if (!name.endsWith('.lock')) yield `${path}/${name}`
  }
}

function packedRef(content: Buffer | undefined, name: string): Ref | undefined {
  if (content === undefined) return undefined
  const wanted = Buffer.from(` ${name}\n`, 'latin1')
  const found = content.indexOf(wanted)
  if (found === -1) return undefined
  const start = content.lastIndexOf('\n', found) + 1
  const after = content.subarray(found + wanted.length, found + wanted.length + 66).toString('latin1')
  return refOf(content.toString('latin1', start, found), /^\^([0-9a-f]+)\n/.exec(after)?.[1])
}

function* packedRefs(content: Buffer | undefined): Generator<[name: string, ref: Ref]> {
  const lines = content === undefined ? [] : content.toString('latin1').split('\n')
  for (const [index, line] of lines.entries()) {
    const [, id, name] = /^([0-9a-f]+) (refs\/.+)$/.exec(line) ?? []
    const peeled = /^\^([0-9a-f]+)$/.exec(lines[index + 1] ?? '')?.[1]
    const ref = id === undefined ? undefined : refOf(id, peeled)
    if (ref !== undefined && name !== undefined) yield [name, ref]
  }
}

function refOf(id: string, peeled: string | undefined): Ref | undefined {
  if (!idPattern.test(id)) return undefined
  return peeled !== undefined && idPattern.test(peeled) ? { id, peeled } : { id }
}

/** Another one when a branch or tag has come, gone or moved. */
export function refsDigest(refs: Refs): string {
  const ours = [...refs].filter(([name]) => /^refs\/(?:heads|tags)\//.test(name))
  const lines = ours.map(([name, { id }]) => `${id} ${name}\n`).toSorted()
  return createHash('sha256').update(lines.join('')).digest('hex')
}
