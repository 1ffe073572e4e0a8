import * as fs from 'node:fs'
import { compareNames } from '../../../domain/paths.ts'
import { AwError } from '../../../domain/errors.ts'
import type { FileInfo, ListOptions, ListPage } from '../../../ports/files.ts'
import { at, display, type Name } from '../descriptors.ts'
import { translatingErrors } from '../errors.ts'
import { infoOf, linkInfo, shownPath, withRebased } from './info.ts'
import { openBelow } from '../open.ts'
import { countOf, parseRequest } from '../request.ts'
import type { Root } from '../root.ts'
import { withResolvedEntry } from '../walk.ts'

const defaultLimit = 1000

export function list(root: Root, path: string, options: ListOptions = {}): ListPage {
  const parsed = parseRequest(root, path, options)
  const limit = countOf(options.limit, 'limit', defaultLimit)
  if (limit === 0) throw new AwError('invalid_input', '"limit" is at least 1')
  const fd = openBelow(root, parsed, 'directory')
  try {
    const names = parsed.names.includes('..')
      ? withResolvedEntry(root, parsed, { follow: true }, (entry) => entry.names)
      : parsed.names
    const { page, next } = translatingErrors(path, () => pageOf(readNames(fd), limit, options.after))
    const entries = page.map((name) => translatingErrors(path, () => entryInfo(root, fd, names, name)))
    return { entries: entries.filter((info) => info !== undefined).map((info) => withRebased(parsed, info)), next }
  } finally {
    fs.closeSync(fd)
  }

  function entryInfo(root: Root, dir: number, names: readonly string[], name: Name): FileInfo | undefined {
    const stats = fs.lstatSync(at(dir, name), { throwIfNoEntry: false })
    if (!stats) return undefined
    const own = [...names, display(name)]
    const info = infoOf(shownPath({ ...parsed, names: own }, own), stats)
    return stats.isSymbolicLink() ? { ...info, ...linkInfo(root, dir, name, own) } : info
  }
}

function pageOf(names: Name[], limit: number, after: string | undefined): { page: Name[]; next: string | null } {
  const sorted = names.sort((a, b) => compareNames(display(a), display(b)))
  const start = after === undefined ? 0 : sorted.findIndex((name) => compareNames(display(name), after) > 0)
  if (start === -1) return { page: [], next: null }
  let end = Math.min(start + limit, sorted.length)
  // Names that are not valid UTF-8 may look the same; a page must not end between two that do.
  while (end < sorted.length && shown(sorted, end) === shown(sorted, end - 1)) end++
  return { page: sorted.slice(start, end), next: end < sorted.length ? shown(sorted, end - 1) : null }
}

const shown = (names: readonly Name[], index: number): string => display(names[index] ?? '')

/** As text; as bytes those that have no text. */
export function readNames(dir: number): Name[] {
  const names: Name[] = fs.readdirSync(at(dir))
  if (!names.some((name) => name.includes('\ufffd'))) return names
  return fs.readdirSync(at(dir), { encoding: 'buffer' }).map((name) => {
    const text = name.toString()
    return text.includes('\ufffd') ? name : text
  })
}
