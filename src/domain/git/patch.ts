import { isDotGitName } from './names.ts'
import { hunksOf } from '../text/diff.ts'

/** One side of a path, as far as git knows it. Directories, pipes and devices are none. */
export interface PatchSide {
  /** The bytes of the name, one character each (latin1). */
  readonly path: string
  readonly kind: 'file' | 'symlink'
  readonly mode: number
  /** A file's text, or what a link says. */
  readonly text: string
}

/**
 * How one path becomes another, or the same one changes, as `git apply` reads it; empty if git sees no difference. Of
 * modes it knows only whether a file can be executed. Another kind of thing is one that goes and one that comes.
 */
export function gitPatch(before: PatchSide | null, after: PatchSide | null): string {
  if (before !== null && after !== null && (before.kind !== after.kind || isMovedLink(before, after)))
    return gitPatch(before, null) + gitPatch(null, after)
  const [old, now] = [before ?? after, after ?? before]
  if (old === null || now === null) return ''
  const header = headerOf(before, after)
  const hunks = hunksOf(before?.text ?? '', after?.text ?? '')
  if (header.length === 0 && hunks.length === 0) return ''
  const names = [`--- ${fileLine('a', before)}`, `+++ ${fileLine('b', after)}`]
  const first = `diff --git ${parted(`a/${old.path}`)} ${parted(`b/${now.path}`)}`
  return `${[first, ...header, ...(hunks.length === 0 ? [] : [...names, ...hunks])].join('\n')}\n`
}

/** git must be told that a link goes, or it takes it to be in the way of what comes below it. */
const isMovedLink = (before: PatchSide, after: PatchSide): boolean =>
  before.kind === 'symlink' && before.path !== after.path

function headerOf(before: PatchSide | null, after: PatchSide | null): string[] {
  if (before === null) return after === null ? [] : [`new file mode ${gitMode(after)}`]
  if (after === null) return [`deleted file mode ${gitMode(before)}`]
  const modes = gitMode(before) === gitMode(after) ? [] : [`old mode ${gitMode(before)}`, `new mode ${gitMode(after)}`]
  const isMoved = before.path !== after.path
  return [...modes, ...(isMoved ? [`rename from ${quoted(before.path)}`, `rename to ${quoted(after.path)}`] : [])]
}

function gitMode({ kind, mode }: PatchSide): string {
  if (kind === 'symlink') return '120000'
  return (mode & 0o100) === 0 ? '100644' : '100755'
}

/** A name with a space ends in a tab, so that it is known where it ends. */
function fileLine(letter: string, side: PatchSide | null): string {
  if (side === null) return '/dev/null'
  const name = quoted(`${letter}/${side.path}`)
  return name.includes(' ') && !name.startsWith('"') ? `${name}\t` : name
}

const letters: Readonly<Record<string, string>> = {
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '"': '"',
  '\\': '\\',
}

/** In quotes if it holds anything but plain characters, each of the others as its bytes in octal. */
export function quoted(name: string): string {
  // eslint-disable-next-line no-control-regex
  const inside = name.replaceAll(/[\u0000-\u001f"\\\u007f-\u00ff]/g, (character) => {
    const octal = character.charCodeAt(0).toString(8).padStart(3, '0')
    return `\\${letters[character] ?? octal}`
  })
  return inside === name ? name : `"${inside}"`
}

/** How many lines a patch adds and removes. */
export function linesIn(patch: string): { added: number; removed: number } {
  const count = { added: 0, removed: 0 }
  let isHead = true
  for (const row of patch.split('\n')) {
    // Of a file that became a link there are two patches.
    isHead = row.startsWith('diff --git ') || (isHead && !row.startsWith('@@'))
    if (!isHead && row.startsWith('+')) count.added += 1
    if (!isHead && row.startsWith('-')) count.removed += 1
  }
  return count
}

/** With a blank in it also: where no other line tells the name, git could not tell one from the other. */
function parted(name: string): string {
  const told = quoted(name)
  return told.includes(' ') && !told.startsWith('"') ? `"${told}"` : told
}

/** git refuses to touch its own directory, so what is in one is in no patch. */
export const isInsideDotGit = (path: string): boolean => path.split('/').some(isDotGitName)
