import type { Stats } from 'node:fs'
import { AwError } from '../../../../domain/errors.ts'
import { quotePath } from '../../../../domain/paths.ts'
import { notMountable, protectedNames } from '../../../../domain/sandbox/mount-target.ts'
import { ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { at, identity } from '../../../../sys/safe-fs/descriptors.ts'
import { openRoot } from '../../../../sys/safe-fs/index.ts'
import { openTree as openBelow } from '../../../../sys/safe-fs/root.ts'
import { withResolvedEntry } from '../../../../sys/safe-fs/walk.ts'
import type { Placeholder } from '../record.ts'

/**
 * Names in a tree that the box sees as mounts of their own. A mount needs something to be mounted on: a name that is
 * missing would be the box's to make, so an empty one is made before, and taken away afterwards if it is still empty.
 * Whatever is above such a name is mounted on itself: a directory that is a mount cannot be renamed, and another one with
 * a writable name put in its place.
 */
export interface MountedName {
  /** Below the tree's root. */
  readonly path: string
  readonly names: readonly string[]
  readonly kind: 'directory' | 'file'
  /** It was not there: it is to be made first. */
  readonly missing: boolean
  /** It is neither a file nor a directory: an empty file is shown in its place. */
  readonly masked: boolean
  /** Directories above it, the uppermost first. */
  readonly above: readonly (readonly string[])[]
}

/** Looks, and makes nothing. `sandbox_unenforceable` for what cannot be mounted on, with what would have to change. */
export function planMountedName(find: TreeLookup, given: string, kind?: 'directory' | 'file'): MountedName {
  const names = protectedNames(given)
  const path = names.join('/')
  for (const directory of aboveOf(names)) {
    const stats = look(find, given, directory)
    if (stats === undefined) throw nowhere(path, directory.join('/'))
    if (!stats.isDirectory()) throw notMountable(path, `${quotePath(directory.join('/'))} is no directory`)
  }
  const stats = look(find, given, names)
  if (stats !== undefined && !stats.isDirectory() && !stats.isFile()) {
    throw notMountable(path, 'it is neither a file nor a directory', 'Remove it, or replace it by what it stands for')
  }
  if (stats === undefined) return mounted(names, kind ?? defaultKind(names), { missing: true })
  return mounted(names, stats.isDirectory() ? 'directory' : 'file')
}

/**
 * The same for a name that is held as far as there is something to hold, whatever tree it is: nobody can keep a sandbox
 * from being started by what is put there. A directory that cannot be looked into is held whole, or it could be opened
 * inside; so is a file in the place of the directory, as the `.git` of a worktree. A link cannot be mounted on: what it
 * leads to is left to the box, and told.
 */
export function planProtectedIfPresent(find: TreeLookup, given: string): { name?: MountedName; note?: string } {
  const names = protectedNames(given)
  const left = (why: string): { note: string } => ({ note: `${quotePath(given)} is not kept read-only: ${why}` })
  for (const reached of [...aboveOf(names), names]) {
    const above = reached.slice(0, -1)
    const stats = unlessLocked(() => find(reached))
    if (stats === 'locked') {
      const note = `${quotePath(above.join('/'))} is read-only as a whole: its mode lets nobody look what is in it`
      return { name: mounted(above, 'directory'), note }
    }
    if (stats === undefined) {
      return reached.length === names.length ? { name: mounted(names, defaultKind(names), { missing: true }) } : {}
    }
    if (stats.isSymbolicLink()) return left(`${quotePath(reached.join('/'))} is a link`)
    if (stats.isDirectory()) continue
    if (reached.length < names.length - 1) return left(`${quotePath(reached.join('/'))} is no directory`)
    return { name: mounted(reached, 'file', { masked: !stats.isFile() }) }
  }
  return { name: mounted(names, 'directory') }
}

function unlessLocked<T>(call: () => T): T | 'locked' {
  try {
    return call()
  } catch (error) {
    if (error instanceof AwError && error.code === 'permission_denied') return 'locked'
    throw error
  }
}

const aboveOf = (names: readonly string[]): string[][] =>
  names.slice(0, -1).map((_, index) => names.slice(0, index + 1))

const mounted = (
  names: readonly string[],
  kind: MountedName['kind'],
  { missing = false, masked = false } = {},
): MountedName => ({ path: names.join('/'), names, above: aboveOf(names), kind, missing, masked })

/** Of a name that is not there nobody knows what it would be: `.mcp.json` a file, `.aw` and `hooks` a directory. */
const defaultKind = (names: readonly string[]): 'directory' | 'file' =>
  /.\.[a-z0-9]+$/i.test(names.at(-1) ?? '') ? 'file' : 'directory'

/**
 * Whether a name that was planned is not there now. `sandbox_unenforceable` if it has become something that cannot be
 * mounted on.
 */
export function isMissing(find: TreeLookup, { path, names, masked }: MountedName): boolean {
  const stats = look(find, path, names)
  if (stats === undefined) return true
  if (stats.isDirectory() || stats.isFile() || (masked && !stats.isSymbolicLink())) return false
  throw replaced(path)
}

/** It was changed between the plan and the start. */
export const replaced = (path: string): AwError =>
  notMountable(path, 'it was replaced while the sandbox was being started', 'Try again')

/** What a name of the tree is; throws if a link is on the way. */
export type TreeLookup = (names: readonly string[]) => Stats | undefined

function look(find: TreeLookup, given: string, names: readonly string[]): Stats | undefined {
  try {
    return find(names)
  } catch (error) {
    if (!(error instanceof AwError)) throw error
    throw notMountable(given, error.message, 'Replace the link by what it leads to')
  }
}

const nowhere = (path: string, missing: string): AwError =>
  new AwError(
    'sandbox_unenforceable',
    `${quotePath(path)} cannot be kept read-only: there is no ${quotePath(missing)}, and to protect a name in it, it ` +
      'would have to be made in the workspace',
    {
      hint: `Make ${quotePath(missing)} first, or leave ${quotePath(path)} out: whatever the box makes there is its own`,
      data: { protect: path, missing },
    },
  )

/** Makes what is to be mounted on, as the owner of the directory that it is in. Absent and present = done. */
export function makePlaceholders(tree: string, placeholders: readonly Placeholder[]): void {
  using files = openRoot(tree, { resolver: 'walk' })
  for (const { path, kind } of placeholders) {
    if (kind === 'directory') files.mkdir(path)
    else if (!files.resolve(path).exists) files.write(path, '')
  }
}

/** Takes away what is still empty; whatever somebody has made of it stays. A tree that is gone has none. */
export function removePlaceholders(tree: string, expected: string | null, placeholders: readonly Placeholder[]): void {
  if (placeholders.length === 0) return
  const opened = unlessGone(() => openBelow(tree, { resolver: 'walk' }))
  if (opened === undefined) return
  using root = opened
  if (identity(root.fd) !== expected) return
  for (const { path, kind } of placeholders) {
    const parsed = { names: path.split('/'), directory: false, rebased: false }
    unlessGone(() =>
      withResolvedEntry(root, parsed, { follow: false }, ({ dir, name, stats }) => {
        if (stats === undefined) return
        const place = at(dir, name)
        if (kind === 'directory') ignoreErrors(['ENOTEMPTY', 'ENOENT', 'ENOTDIR'], () => hostFs.rmdirSync(place))
        else if (stats.isFile() && stats.size === 0) ignoreErrors(['ENOENT'], () => hostFs.unlinkSync(place))
      }),
    )
  }
}

function unlessGone<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    const codes: readonly string[] = [
      'file_not_found',
      'not_a_directory',
      'path_outside_workspace',
      'symlink_outside_workspace',
    ]
    if (error instanceof AwError && codes.includes(error.code)) return undefined
    throw error
  }
}
