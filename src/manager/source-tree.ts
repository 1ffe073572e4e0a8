import { type BaseFacts, groupOf } from '../domain/bases.ts'
import { AwError } from '../domain/errors.ts'
import { profileOf } from '../domain/profiles.ts'
import type { ArchiveSource, FolderSource, GitSource, Imported, Source, Workspace } from '../domain/workspace/state.ts'
import type { CreateOptions, ImportOptions, ImportReport, Place, StorageDriver } from '../ports/storage-driver.ts'
import type { Resolved } from '../ports/repositories.ts'
import {
  basePlace,
  basesOf,
  createFromBase,
  eraseBase,
  freezeBase,
  hasBases,
  lockGroup,
  nextNumber,
  usersOf,
} from './bases.ts'
import type { Core, Request } from './core.ts'
import { borrowedBy, openTree, sizeBelow } from './trees.ts'

/** A source whose content is copied into the tree. */
type Outer = FolderSource | GitSource | ArchiveSource

export const isOuter = (source: Source): source is Outer =>
  source.kind === 'folder' || source.kind === 'git' || source.kind === 'archive'

export interface Content {
  /** With what became known of it. */
  readonly source: Source
  readonly imported: Imported | null
}

export interface Places {
  /** Where a tree comes to stand that begins as a base: whole, or not at all. */
  readonly whole: Place
  /** Where one is filled. */
  readonly filled: Place
  /** Of the first. Nothing of the second comes before what the first is made after. */
  readonly making: Pick<CreateOptions, 'after' | 'meanwhile'>
}

/** Where it was made. */
type Made = Content & { readonly place: Place }

/**
 * Makes a new tree with the layout of a profile and what a source holds: from its base if there is one, else from the
 * source itself, which then becomes a base. Durable as far as the base is.
 */
export async function makeContent(
  core: Core,
  request: Request,
  { source, profile }: Pick<Workspace, 'source' | 'profile'> & { source: Outer },
  { whole, filled: place, making }: Places,
  access?: string,
): Promise<Made> {
  const known = await stateOf(core, request, source, profile, access)
  if (!hasBases(core)) {
    await making.after
    const made = await fill(core, request, known, profile, place, access)
    return { source: { ...made.source, base: null }, imported: made.imported, place }
  }
  if (known.base !== undefined && (await createFromBase(core, request, whole, known.base, making)))
    return { ...(await asBase(core, known.source, known.base)), place: whole }
  await making.after
  using _ = await lockGroup(core, request, known.group)
  const made =
    known.base === undefined
      ? await renewed(core, request, known, profile, place)
      : await first(core, request, { ...known, base: known.base }, profile, place, access)
  return { ...made, place }
}

/** What was learned when the base was made holds for all that begin as it; what was asked for is each one's own. */
async function asBase(core: Core, source: Outer, base: string): Promise<Content> {
  const facts = (await basesOf(core)).get(base)
  const { branch, submodules, lfs, refs, verified } = (facts?.source ?? {}) as Partial<GitSource & ArchiveSource>
  const learned =
    source.kind === 'git' ? { branch, submodules, lfs, refs } : source.kind === 'archive' ? { verified } : {}
  const known = Object.fromEntries(Object.entries(learned).filter(([, value]) => value !== undefined))
  return { source: { ...source, ...known, base }, imported: facts?.imported ?? null }
}

interface Known {
  readonly source: Outer
  readonly group: string
  /** The base's name, where the state of a source has one. */
  readonly base?: string
  /** It is what the source has told just now. */
  readonly fresh?: boolean
}

/** What tells one state of a source from another. */
async function stateOf(core: Core, request: Request, source: Outer, profile: string, access?: string): Promise<Known> {
  // Whom a tree belongs to cannot be changed without looking at all of it: another owner, another base.
  const { owner } = core.storage.capabilities
  if (source.kind === 'git') {
    const { shallow } = source
    // Of one that a link led to when it was tried before, what it really is becomes known only now.
    const { url, commit, ref, refs } = await resolved(core, request, source, access)
    const group = groupOf('git', profile, { url, commit, ref, shallow, refs, owner })
    return {
      source: { ...source, url, commit, full_ref: ref, ...(refs !== undefined && { refs }) },
      group,
      base: group,
      fresh: source.commit === undefined,
    }
  }
  if (source.kind === 'archive') {
    // A reset begins where the workspace began.
    const digest = source.digest ?? (await core.archives.digest(source.path, request.signal))
    const group = groupOf('archive', profile, { digest, trusted: source.trusted, owner })
    return { source: { ...source, digest }, group, base: group }
  }
  const { path, exclude, ignored } = source
  return { source, group: groupOf('folder', profile, { path, exclude, ignored, owner }) }
}

async function resolved(core: Core, request: Request, source: GitSource, access?: string): Promise<Resolved> {
  const { url, ref, commit, full_ref, refs, shallow } = source
  // A reset begins where the workspace began.
  if (commit !== undefined) return { url, commit, ref: full_ref ?? null, ...(refs !== undefined && { refs }) }
  request.onProgress?.({ phase: 'asking the repository' })
  return core.repositories.resolve({ url: access ?? url, ref, all: !shallow, signal: request.signal })
}

async function first(
  core: Core,
  request: Request,
  known: Known & { readonly base: string },
  profile: string,
  place: Place,
  access?: string,
): Promise<Content> {
  const { base, group } = known
  // Whoever had the lock before may have made it.
  if (await createFromBase(core, request, place, base)) return asBase(core, known.source, base)
  if (await core.storage.exists(basePlace(base))) await eraseBase(core, request, base, 'unfinished')
  const made = await fill(core, request, known, profile, place, access)
  const facts: BaseFacts = { group, profile, source: made.source, imported: made.imported }
  await freezeBase(core, request, place, base, facts)
  return { source: { ...made.source, base }, imported: made.imported }
}

/** A folder has changed since, or has not: only what differs from its last base is copied. */
async function renewed(
  core: Core,
  request: Request,
  { source, group }: Known,
  profile: string,
  place: Place,
): Promise<Content> {
  const all = [...(await basesOf(core)).values()].filter((base) => base.group === group)
  const last = all.at(-1)
  const base = `${group}-${await nextNumber(core, group)}`
  const since = last !== undefined && (await createFromBase(core, request, place, last.base)) ? last : undefined
  const made = await fill(core, request, { source, group }, profile, place, undefined, {
    index: base,
    ...(since && { since: since.base }),
  })
  if (since !== undefined && made.changed === 0)
    return { source: { ...source, base: since.base }, imported: made.imported }
  await freezeBase(core, request, place, base, { group, profile, source: made.source, imported: made.imported })
  for (const old of all)
    if ((await usersOf(core, old.base)).length === 0) await eraseBase(core, request, old.base, 'replaced')
  return { source: { ...made.source, base }, imported: made.imported }
}

interface Filled {
  readonly source: Outer
  readonly imported: Imported | null
  /** How much differs from what the tree was made from; null if nobody counted. */
  readonly changed: number | null
}

interface Indexed {
  readonly index?: string
  readonly since?: string
}

/** The content of a source in a tree that is made for it, without a base. Answers what became known of the source. */
export async function fillAlone(
  core: Core,
  request: Request,
  source: Source,
  profile: string,
  place: Place,
  access?: string,
): Promise<Source> {
  if (!isOuter(source)) throw new AwError('internal', `Nothing is copied from a source of the kind ${source.kind}`)
  const known = await stateOf(core, request, source, profile, access)
  return (await fill(core, request, known, profile, place, access)).source
}

/** Brings the content of a source into a tree, which is made unless it is `since` an earlier state of it. */
async function fill(
  core: Core,
  request: Request,
  { source, fresh }: Known,
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
      ...copying(request, profile.content),
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
  const borrows = borrowedBy(tree, profile.content)
  const imported = { ...importedOf(report), ...(borrows.length > 0 && { borrows }) }
  return { source, imported, changed: report.changed ?? null }
}

export const copying = (request: Request, into: string): ImportOptions => ({
  into,
  signal: request.signal,
  onProgress: (done) => request.onProgress?.({ phase: 'copying', ...done }),
})

/** The first few of what was left out are kept. */
export const importedOf = ({ files, bytes, reflinked, skipped, excluded }: ImportReport): Imported => ({
  files,
  bytes,
  reflinked,
  skipped: skipped.length,
  skipped_paths: skipped.slice(0, 20),
  ...(excluded !== undefined && { excluded }),
})

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
  const { files, bytes, branch, submodules, lfs, refs } = await core.repositories.clone({
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
  const learned = { branch, submodules, lfs, ...(refs !== undefined && { refs }) }
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
