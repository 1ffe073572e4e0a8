import { AwError } from '../../domain/errors.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import type { ArchiveSource, FolderSource, GitSource, Imported, Source } from '../../domain/workspace/state.ts'
import type { ImportOptions, ImportReport, Place, StorageDriver } from '../../ports/storage-driver.ts'
import type { Core, Request } from '../core.ts'
import { foreignWorktree, gitAlternates, openTree, sizeBelow } from '../kernel/trees.ts'

/** A source whose content is copied into the tree. */
export type ExternalSource = FolderSource | GitSource | ArchiveSource

export const isExternalSource = (source: Source): source is ExternalSource =>
  source.kind === 'folder' || source.kind === 'git' || source.kind === 'archive'

interface Filled {
  readonly source: ExternalSource
  readonly imported: Imported | null
  /** How much differs from what the tree was made from; null if nobody counted. */
  readonly changed: number | null
}

interface Indexed {
  readonly index?: string
  readonly since?: string
}

/** Brings the content of a source into a tree, which is made unless it is `since` an earlier state of it. */
export async function fill(
  core: Core,
  request: Request,
  { source, fresh }: { readonly source: ExternalSource; readonly fresh?: boolean | undefined },
  profileName: string,
  place: Place,
  access?: string,
  { index, since }: Indexed = {},
): Promise<Filled> {
  const profile = profileOf(profileName)
  // A whole workspace brings its directories along.
  const isWhole = source.kind === 'archive' && source.whole === true
  if (since === undefined) {
    await core.storage.create(place, { mode: core.config.settings['workspaces.dir_mode'] })
    using tree = await openTree(core, place)
    for (const directory of isWhole ? [] : profile.directories) tree.mkdir(directory, { parents: true })
  }
  if (source.kind !== 'folder') {
    using tree = await openTree(core, place)
    const into = `${tree.root}/${isWhole ? '.' : profile.content}`
    if (source.kind === 'archive') return await unpacked(core, request, source, into)
    const made = await cloned(core, request, { source, fresh }, into, access)
    return withBytes(made, sizeBelow(tree, `${profile.content}/.git`, 'reject'))
  }
  const report = await core.storage.import(
    place,
    { folder: source.path },
    {
      ...copyOptions(request, profile.content),
      exclude: source.exclude,
      ignored: source.ignored,
      index: index === undefined ? undefined : { name: index, since },
    },
  )
  if (report.skipped.some(({ path }) => path === '.'))
    throw new AwError('source_failed', `The folder ${source.path} may not be read`, {
      hint: 'Check who may read it',
      data: { folder: source.path },
    })
  using tree = await openTree(core, place)
  const borrows = gitAlternates(tree, profile.content)
  const work_tree = foreignWorktree(tree, profile.content)
  const imported = {
    ...importedOf(report),
    ...(borrows.length > 0 && { borrows }),
    ...(work_tree !== undefined && { work_tree }),
  }
  return { source, imported, changed: report.changed ?? null }
}

export const copyOptions = (request: Request, into: string): ImportOptions => ({
  into,
  signal: request.signal,
  onProgress: (done) => request.onProgress?.({ phase: 'copying', ...done }),
})

/** A few of what was left out are kept, what may hold somebody's work before what never does. */
export const importedOf = ({ files, bytes, reflinked, skipped, excluded }: ImportReport): Imported => ({
  files,
  bytes,
  reflinked,
  skipped: skipped.length,
  skipped_paths: skipped.toSorted((a, b) => Number(isEmpty(a)) - Number(isEmpty(b))).slice(0, 20),
  ...(excluded !== undefined && { excluded }),
})

const isEmpty = ({ reason }: ImportReport['skipped'][number]): boolean =>
  reason === 'socket' || reason === 'fifo' || reason === 'device'

/** The repository came with the files: what it takes up is no more the workspace's own than they are. */
const withBytes = (made: Filled, more: number): Filled => ({
  ...made,
  imported: made.imported && { ...made.imported, bytes: made.imported.bytes + more },
})

async function cloned(
  core: Core,
  request: Request,
  { source, fresh }: { readonly source: GitSource; readonly fresh: boolean | undefined },
  into: string,
  access = source.url,
): Promise<Filled> {
  const { url, commit = '', full_ref: ref = null, shallow, refs: asked } = source
  const { files, bytes, branch, submodules, lfs, refs, cut } = await core.repositories.clone({
    url: access,
    resolved: { url, commit, ref, refs: asked },
    fresh,
    shallow,
    into,
    signal: request.signal,
    onProgress: ({ phase, percent, bytes: received, note }) =>
      request.onProgress?.({ phase: note ?? phase, percent: percent ?? undefined, bytes: received ?? undefined }),
  })
  const imported = { files, bytes, reflinked: 0, skipped: 0, skipped_paths: [] }
  const learned = { branch, submodules, lfs, ...(refs !== undefined && { refs }), ...(cut && { cut }) }
  return { source: { ...source, ...learned }, imported, changed: null }
}

const keepsWhiteouts = ({ capabilities }: StorageDriver): boolean =>
  !capabilities.unfaithful.some(({ what }) => what === 'device number 0')

async function unpacked(core: Core, request: Request, source: ArchiveSource, into: string): Promise<Filled> {
  const { bytes: free } = await core.storage.free()
  const reserve = core.config.settings['space.min_free_mb'] * 2 ** 20
  if (free <= reserve) throw new AwError('disk_full', 'There is no room to unpack anything')
  const { files, bytes, verified, skipped, reduced } = await core.archives.unpack(source.path, into, {
    maxBytes: free - reserve,
    digest: source.digest ?? '',
    trusted: source.trusted,
    whiteouts: keepsWhiteouts(core.storage) ? undefined : 'omit',
    signal: request.signal,
    onProgress: (done) => request.onProgress?.({ phase: 'unpacking', ...done }),
  })
  const imported: Imported = {
    files,
    bytes,
    reflinked: 0,
    skipped: skipped.length,
    skipped_paths: skipped.slice(0, 20),
    ...(reduced.length > 0 && { reduced: reduced.length, reduced_paths: reduced.slice(0, 20) }),
  }
  return { source: { ...source, verified }, imported, changed: null }
}
