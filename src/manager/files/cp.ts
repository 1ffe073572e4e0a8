import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { isTemporaryName, quotePath, splitPath, temporaryName } from '../../domain/paths.ts'
import { assertAccess } from '../../domain/workspace/allow.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { FileHandle } from '../../ports/files.ts'
import type { CopyReport, CopySource } from '../../ports/host.ts'
import { withContents } from '../diff/baseline.ts'
import type { Core, Request } from '../core.ts'
import { assertSizesBelow, largestFile } from './file-size.ts'
import { rootsOf, withTree } from './with-tree.ts'
import { applySubstitutions } from '../templates/rendered-files.ts'
import { resolveFrozen } from '../diff/frozen-path.ts'
import { removePlaceholders } from '../sandboxes/placeholders.ts'
import { volumeOf } from '../kernel/places.ts'
import { withScratch } from './scratch.ts'
import { meansSnapshot, operandOf } from '../diff/operands.ts'
import { assertRoom } from '../space/size-limit.ts'
import { openTree, reachTree } from '../kernel/trees.ts'

/** Between the machine and a workspace, or between two workspaces. */
export async function cp(core: Core, input: Inputs['cp'], request: Request): Promise<Outputs['cp']> {
  const [from, to] = [parseEnd(input.from, 'from'), parseEnd(input.to, 'to')]
  const { workspace, path, replace } = { ...to, replace: input.replace === true }
  const copying = {
    signal: request.signal,
    onProgress: (done: { files: number; bytes: number }) => request.onProgress?.({ phase: 'copying', ...done }),
  }
  if (from.workspace === undefined && workspace === undefined)
    throw new AwError('invalid_input', 'Neither of the two is in a workspace', {
      hint: 'Name it as WORKSPACE:PATH',
      data: { field: 'from' },
    })
  return withSource(core, from, request, async (source, name) => {
    if (workspace === undefined) return copyOutput(await core.host.copyOut(source, path, { ...copying, replace }))
    const target = { workspace, path, name, replace }
    return putInto(core, request, target, (place) => core.host.copyIn(source, place, copying))
  })
}

/** Where it can be read, as long as the work takes. */
async function withSource<T>(
  core: Core,
  { workspace: ref, path }: CopyEnd,
  request: Request,
  work: (source: CopySource, name: string) => Promise<T>,
): Promise<T> {
  if (ref === undefined) return work(path, nameIn(path))
  if (ref.includes('@') || (await meansSnapshot(core, ref))) return withFrozen(core, ref, path, request, work)
  const { volume, ...found } = await withTree(core, request, ref, 'read', (tree, workspace) => ({
    volume: volumeOf(workspace),
    path: tree.resolve(path, { follow: false, ...rebased }).path || '.',
    name: askedName(tree, path),
  }))
  using reached = await reachTree(core, volume)
  return await work({ root: reached.path, ...found }, nameIn(found.name))
}

/** Never that of what a link leads to, which whoever works there has chosen. */
function askedName(tree: FileHandle, path: string): string {
  const names = splitPath(path)
  if (names.at(-1) === '..') return '.'
  const plain = `${path.startsWith('/') ? '/' : ''}${names.join('/')}`
  const found = tree.resolve(plain, { follow: false, ...rebased })
  return found.path.split('/').at(-1) || '.'
}

/** A frozen tree has no path of its own on every driver: what is meant is copied to where it has one. */
async function withFrozen<T>(
  core: Core,
  ref: string,
  path: string,
  request: Request,
  work: (source: CopySource, name: string) => Promise<T>,
): Promise<T> {
  await using side = await withContents(core, request, await operandOf(core, ref))
  const { place: frozen, workspace, contents } = side
  assertAccess(workspace, 'read')
  const meant = await resolveFrozen(core, frozen, path, rootsOf(core, workspace, request.within))
  const name = nameIn(meant.name)
  return await withScratch(core, request, async (place) => {
    await core.storage.create(place, { mode: 0o700 })
    const source = { place: frozen, path: meant.path }
    const importing = { into: name, beside: await contents?.(), signal: request.signal }
    const { single = false } = await core.storage.import(place, source, importing)
    if (single && meant.directory)
      throw new AwError('not_a_directory', `Not a directory: ${quotePath(path)}`, { data: { path } })
    const below = meant.path === '.' ? '' : `${Buffer.from(meant.path, 'latin1').toString()}/`
    await removePlaceholders(core, place, { workspace, place: frozen }, (passing) =>
      passing.startsWith(below) ? `${name}/${passing.slice(below.length)}` : undefined,
    )
    await applySubstitutions(core, place, { workspace, place: frozen }, (filled) => {
      if (single) return `${filled}/` === below ? `${name}/${name}` : undefined
      return filled.startsWith(below) ? `${name}/${filled.slice(below.length)}` : undefined
    })
    using reached = await core.storage.reach(place)
    return await work({ root: reached.path, path: single ? `${name}/${name}` : name, name }, name)
  })
}

interface Target {
  readonly workspace: string
  readonly path: string
  /** In a directory it gets this one. */
  readonly name: string
  readonly replace: boolean
}

/**
 * Copied to a name of its own at the top of the tree first; from there it goes to its place as everything there does. The
 * tree stays open until then: a snapshot in between would freeze the copy, and not every file system lets a frozen
 * directory be renamed.
 */
async function putInto(
  core: Core,
  request: Request,
  { workspace, path, name, replace }: Target,
  copy: (place: string) => Promise<CopyReport>,
): Promise<Outputs['cp']> {
  const random = Buffer.from(core.clock.random(8)).toString('hex')
  const temporary = temporaryName(random)
  const lock = await core.host.lock(copyLock(temporary), { timeoutMs: 1000 })
  try {
    const report = await withTree(core, request, workspace, 'write', async (tree, found) => {
      try {
        const made = await copy(`${tree.root}/${temporary}`)
        await assertRoom(core, found, { done: made.bytes })
        const target = isDirectory(tree, path) ? join(path, name) : path
        assertSizesBelow(tree, temporary, largestFile(core, found, request), { named: target })
        await assertSame(core, request, found, temporary)
        put(tree, made.single ? `${temporary}/${name}` : temporary, target, { replace, single: made.single })
        return made
      } finally {
        tree.remove(temporary, { recursive: true, missing: 'ignore' })
      }
    })
    // Of a whole workspace that is copied into itself, the copy is no part.
    return copyOutput({ ...report, skipped: report.skipped.filter(({ path: left }) => left !== temporary) })
  } finally {
    lock?.retire()
  }
}

function put(
  tree: FileHandle,
  made: string,
  target: string,
  { replace, single }: { readonly replace: boolean; readonly single: boolean },
): void {
  try {
    tree.rename(made, target, { parents: true, replace, ...rebased })
  } catch (error) {
    throw toAwError(error).code === 'file_exists' ? taken(tree, target, single, error) : error
  }
}

/** A copy may take long: meanwhile the lease may have ended, or the tree may have been replaced by another. */
async function assertSame(core: Core, request: Request, { id }: Workspace, temporary: string): Promise<void> {
  const isThere = await withTree(core, request, id, 'write', (tree) => tree.resolve(temporary).exists)
  if (isThere) return
  throw new AwError('workspace_busy', 'The workspace was restored or reset during the copy, so nothing was copied', {
    hint: 'Run the copy again',
    data: { id },
  })
}

/** Held as long as it is copied to that name: one whose owner died is told from one that is being made. */
const copyLock = (temporary: string): string => `copy${temporary}`

/** Removes what copies left at the top of a tree whose processes died. */
export async function removeUnfinishedCopies(core: Core, workspace: Workspace): Promise<void> {
  using tree = await openTree(core, volumeOf(workspace))
  for (const { path, kind } of tree.list('.').entries) {
    if (kind !== 'directory' || !isTemporaryName(path)) continue
    using lock = await core.host.lock(copyLock(path), { timeoutMs: 0 })
    if (lock === undefined) continue
    tree.remove(path, { recursive: true, missing: 'ignore' })
    lock.retire()
  }
}

/** A slash at the beginning means the top of the workspace. */
const rebased = { absolute: 'rebase' } as const

function taken(tree: FileHandle, path: string, single: boolean, cause: unknown): AwError {
  const isFile = tree.stat(path, { follow: false, ...rebased }).kind !== 'directory'
  return new AwError('file_exists', `There is ${isFile ? 'something' : 'a directory'} at ${quotePath(path)} already`, {
    hint: isFile && single ? 'Name another path, or replace it: --replace' : 'Name another path',
    data: { path },
    cause,
  })
}

const copyOutput = ({ files, bytes, skipped }: CopyReport): Outputs['cp'] => ({ files, bytes, skipped })

function isDirectory(tree: FileHandle, path: string): boolean {
  if (path.endsWith('/') || path === '.') return true
  const { exists } = tree.resolve(path, rebased)
  return exists && tree.stat(path, rebased).kind === 'directory'
}

const join = (directory: string, name: string): string =>
  directory === '.' ? name : `${directory.replace(/\/+$/, '')}/${name}`

const nameIn = (path: string): string => path.split('/').findLast((part) => part !== '' && part !== '.') ?? 'copy'

interface CopyEnd {
  readonly workspace?: string
  readonly path: string
}

function parseEnd(text: string, field: string): CopyEnd {
  if (text.startsWith('/')) return { path: text }
  const cut = text.indexOf(':')
  if (cut > 0) return { workspace: text.slice(0, cut), path: text.slice(cut + 1) || '.' }
  const said = JSON.stringify(text.slice(0, 200))
  throw new AwError('invalid_input', `${said} is neither WORKSPACE:PATH nor an absolute path`, {
    hint: 'Put the name of the workspace and a colon before the path',
    data: { field },
  })
}
