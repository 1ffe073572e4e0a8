import { AwError, errorTable, toAwError } from '../../domain/errors.ts'
import { belowRoot, maxPathBytes, parsePath, quotePath, splitPath } from '../../domain/paths.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { existsAt } from '../kernel/trees.ts'

interface FrozenPath {
  /** As the storage takes it: without `.`, `..` or links, but for one at the end that is not followed. */
  readonly path: string
  /** As it was asked for; `.` if it was by none. */
  readonly name: string
  /** A slash is behind it: only a directory is meant. */
  readonly directory: boolean
}

const maxLinks = 40

/**
 * Where a path leads in a frozen tree, as `resolve` of a live one with `follow` false: links on the way are followed, and
 * one at the end if a slash is behind it.
 * @param roots absolute paths that mean the top of the tree
 */
export async function resolveFrozen(
  core: Core,
  place: Place,
  path: string,
  roots: readonly string[],
): Promise<FrozenPath> {
  const { names, directory } = parsePath(path, { absolute: 'rebase', roots })
  const last = names.at(-1) ?? '..'
  const asked = { name: last === '..' ? '.' : last, directory }
  const isPlain = !directory && !names.includes('..')
  // Most have no link on their way: one look tells.
  if (isPlain && (names.length < 2 || (await existsAt(core, place, names.join('/')))))
    return { ...asked, path: asBytes(names.join('/')) || '.' }
  const tops = roots.map(asBytes)
  const pending = names.map((name) => ({ name: asBytes(name), fromLink: false })).reverse()
  let passed: string[] = []
  let links = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { name, fromLink } = next
    if (name === '..') {
      if (passed.pop() === undefined)
        throw refused(fromLink ? 'symlink_outside_workspace' : 'path_traversal_attempt', path)
      continue
    }
    const here = [...passed, name]
    const target = pending.length > 0 || directory ? await linkAt(core, place, here.join('/')) : undefined
    if (target === undefined) {
      passed = here
      continue
    }
    if (++links > maxLinks) throw refused('cannot_resolve_symlinks', path)
    const isAbsolute = target.startsWith('/')
    const below = isAbsolute ? belowRoot(splitPath(target), tops) : splitPath(target)
    if (below === undefined) throw refused('symlink_outside_workspace', path)
    if (isAbsolute) passed = []
    pending.push(...below.map((part) => ({ name: part, fromLink: true })).reverse())
  }
  return { ...asked, path: passed.join('/') || '.' }
}

const asBytes = (text: string): string => Buffer.from(text).toString('latin1')

/** What a link says; undefined if there is none. */
async function linkAt(core: Core, place: Place, path: string): Promise<string | undefined> {
  try {
    return (await core.storage.read(place, path, { maxBytes: maxPathBytes, link: true })).toString('latin1')
  } catch (error) {
    if (['file_not_found', 'not_a_file'].includes(toAwError(error).code)) return undefined
    throw error
  }
}

type Refusal = 'symlink_outside_workspace' | 'cannot_resolve_symlinks' | 'path_traversal_attempt'

const refused = (code: Refusal, path: string): AwError =>
  new AwError(code, `${errorTable[code].about}: ${quotePath(path)}`, { data: { path } })
