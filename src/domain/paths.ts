import { AwError } from './errors.ts'

/**
 * The lexical gate: what can be said about a caller's path without looking at a disk. It decides what is well formed;
 * it never decides access, which is the kernel's part (`sys/safe-fs`).
 *
 * A backslash is an ordinary character: on Linux it is one in a file name, and a tree that holds such a name must stay
 * readable. `..\..\x` is therefore one (odd) name, which cannot climb. Only in a `virtual` root it separates names, as
 * those write it who do not know what machine they are on.
 */

export const maxPathBytes = 4096
const maxNameBytes = 255

export interface ParsedPath {
  /** From the root down; `.` and empty parts are gone, `..` is kept: only the kernel knows where it leads. */
  readonly names: readonly string[]
  /** It ended in `/` or `/.`: only a directory is meant. */
  readonly directory: boolean
  /** It was absolute and is now taken as relative to the root. */
  readonly rebased: boolean
}

/** What an absolute path means. `virtual` is `rebase` for those who also write `\` for `/`. */
export type Absolute = 'reject' | 'inside' | 'rebase' | 'virtual'

export interface ParseOptions {
  readonly absolute?: Absolute | undefined
  /** Absolute paths that mean the root: its own, and the public mount. */
  readonly roots?: readonly string[] | undefined
  /** Whether the root itself is an answer. Default true. */
  readonly root?: boolean | undefined
}

/** Throws the code that says what is wrong. Takes anything: callers of a door are not bound by types. */
export function parsePath(given: unknown, options: ParseOptions = {}): ParsedPath {
  checkPath(given)
  const path = options.absolute === 'virtual' ? given.replaceAll('\\', '/') : given
  const parts = splitPath(path)
  const { names, rebased } = path.startsWith('/')
    ? fromAbsolute(path, parts, options)
    : { names: parts, rebased: false }
  checkNames(path, names)
  if (names.length === 0 && options.root === false) {
    throw new AwError('invalid_path', 'The path means the workspace itself, which this cannot be done to')
  }
  return { names, directory: /(^|\/)\.{0,2}$/.test(path), rebased }
}

export const splitPath = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.')

function checkPath(path: unknown): asserts path is string {
  if (typeof path !== 'string') throw new AwError('invalid_path', `A path is a string, not ${kindOf(path)}`)
  if (path.includes('\0')) throw new AwError('invalid_path_null_byte', `The path holds a NUL byte: ${quotePath(path)}`)
  if (/\p{Cc}/u.test(path)) {
    throw new AwError('invalid_path', `The path holds a control character: ${quotePath(path)}`)
  }
  // A lone surrogate would reach the disk as U+FFFD: another name than the one that was checked.
  if (!path.isWellFormed()) throw new AwError('invalid_path', `The path is not valid Unicode: ${quotePath(path)}`)
  if (Buffer.byteLength(path) > maxPathBytes) {
    throw new AwError('path_too_long', `The path is longer than ${maxPathBytes} bytes: ${quotePath(path)}`)
  }
}

function fromAbsolute(path: string, parts: string[], options: ParseOptions): { names: string[]; rebased: boolean } {
  const mode = options.absolute ?? 'inside'
  if (mode === 'reject') {
    throw new AwError('absolute_path_not_allowed', `Absolute paths are not accepted here: ${quotePath(path)}`, {
      hint: 'Give a path relative to the workspace.',
    })
  }
  const names = belowRoot(parts, options.roots ?? [])
  if (names) return { names, rebased: false }
  if (mode === 'rebase' || mode === 'virtual') return { names: parts, rebased: true }
  throw new AwError('path_outside_workspace', `The path is not in the workspace: ${quotePath(path)}`)
}

/** What is left below the root that the parts start with. Whole names are compared: `/ws-evil` is not below `/ws`. */
export function belowRoot(parts: readonly string[], roots: readonly string[]): string[] | undefined {
  const prefixes = roots.map(splitPath).toSorted((a, b) => b.length - a.length)
  const prefix = prefixes.find((names) => names.every((name, index) => parts[index] === name))
  return prefix && parts.slice(prefix.length)
}

function checkNames(path: string, names: readonly string[]): void {
  let depth = 0
  for (const name of names) {
    depth += name === '..' ? -1 : 1
    if (depth < 0) {
      throw new AwError('path_traversal_attempt', `The path climbs above the workspace: ${quotePath(path)}`)
    }
    if (Buffer.byteLength(name) > maxNameBytes) {
      throw new AwError('path_too_long', `A name in the path is longer than ${maxNameBytes} bytes: ${quotePath(name)}`)
    }
  }
}

/**
 * Whether a link that could not be followed stays inside all the same: it leads to something that is not there or may
 * not be looked at, or in a circle. Whatever else went wrong counts as leading out.
 */
export const staysInside = ({ code }: AwError): boolean =>
  ['file_not_found', 'not_a_directory', 'permission_denied', 'path_too_long', 'cannot_resolve_symlinks'].includes(code)

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** For messages: as it is if it is harmless, else quoted; never longer than a line. */
export function quotePath(path: string): string {
  const short = path.length > 120 ? `${path.slice(0, 120)}…` : path
  // Most are ASCII, and to make ready for all of Unicode takes over a millisecond.
  const isHarmless = /^[ -~]+$/.test(short) || /^[\p{L}\p{N}\p{P}\p{S}\p{M} ]+$/u.test(short)
  return isHarmless ? short : JSON.stringify(short.toWellFormed())
}

// -- names -----------------------------------------------------------------------------------------------------------

/**
 * Names that some file system, now or after an export, takes for one another fold to the same string: letter case,
 * Unicode forms, characters that are not seen, trailing dots and spaces, and what follows a colon (Windows streams).
 */
export function foldName(name: string): string {
  const visible = name.normalize('NFKC').replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
  const folded = visible.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')
  return folded.replace(/:.*$/su, '').replace(/[. ]+$/u, '')
}

/** Orders names as their UTF-8 bytes do, which is not how `<` orders UTF-16. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

/** Surrogates stand for the characters above all others. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit >= 0xe000 ? unit - 0x800 : unit + 0x2000)

/** The name of a file that is not finished. One that is found later was left behind by a crash. */
export const temporaryName = (random: string): string => `.aw-${random}.tmp`
export const isTemporaryName = (name: string): boolean => /^\.aw-[0-9a-f]{16}\.tmp$/.test(name)

// -- prompts and public paths ----------------------------------------------------------------------------------------

/**
 * Puts the workspace's mount path in the place of older ones in a prompt. Only whole paths and what is below
 * them: with `/mnt/data` as an old path, `/mnt/data/x` changes, `/mnt/database` and `/srv/mnt/data` stay.
 */
export function adaptPrompt(text: string, paths: { from: string | readonly string[]; to: string }): string {
  const from = [paths.from].flat().map(trimSlashes).filter(Boolean)
  if (from.length === 0) return text
  // One expression looks for all of them.
  if (from.join('').length > maxOldPaths)
    throw new AwError('invalid_input', `The paths to replace have more than ${maxOldPaths} characters together`, {
      data: { field: 'from' },
    })
  const longestFirst = from.toSorted((a, b) => b.length - a.length).map(escapePattern)
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}_./~-])(?:${longestFirst.join('|')})(?![\\p{L}\\p{N}_~-]|\\.[\\p{L}\\p{N}_])`,
    'gu',
  )
  const to = trimSlashes(paths.to)
  return text.replaceAll(pattern, () => to)
}

const maxOldPaths = 16_384

const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** All but a slash that stands for the root. Each run is looked at once, from its beginning: a path is anybody's. */
const trimSlashes = (path: string): string => path.replace(/(?<=[^/])\/+$|(?<=^\/)\/+$/u, '')

export interface WorkspacePaths {
  readonly sessionId: string
  /** What those inside see: `root` and each directory by its name. */
  readonly public: Readonly<Record<string, string>>
  /** The same on the host. Not for answers or logs: left out by `JSON.stringify`. */
  readonly internal: Readonly<Record<string, string>>
  /** A text for the outside: host paths of this workspace become public ones. */
  redact(text: string): string
  toJSON(): { sessionId: string; public: Readonly<Record<string, string>> }
}

/** Where a session's directories are, for those inside and on the host. Derived from its arguments alone. */
export function workspacePaths(session: {
  id: string
  root: string
  publicRoot: string
  directories: readonly string[]
}): WorkspacePaths {
  const below = (root: string): Readonly<Record<string, string>> => {
    const base = trimSlashes(root)
    const child = (name: string): string => (base === '/' ? `/${name}` : `${base}/${name}`)
    return Object.freeze({ ...Object.fromEntries(session.directories.map((name) => [name, child(name)])), root: base })
  }
  const paths = { sessionId: session.id, public: below(session.publicRoot), internal: below(session.root) }
  return {
    ...paths,
    redact: (text) => adaptPrompt(text, { from: session.root, to: session.publicRoot }),
    toJSON: () => ({ sessionId: paths.sessionId, public: paths.public }),
  }
}
