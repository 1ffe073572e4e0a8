import { type BaseFacts, groupOf } from '../../domain/sources/bases.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { ArchiveSource, GitSource, Imported, Source, Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Resolved } from '../../ports/repositories.ts'
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
} from './base-trees.ts'
import type { Core, Request } from '../core.ts'
import { type ExternalSource, fill, isExternalSource } from './fill.ts'

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
}

/** Where it was made. */
export type Made = Content & {
  readonly place: Place
  /** Of one that is whole, and is still being made durable: to be waited for. */
  readonly durable?: Promise<void>
}

/**
 * Makes a new tree with the layout of a profile and what a source holds: from its base if there is one, else from the
 * source itself, which then becomes a base. Durable as far as the base is.
 */
export async function makeContent(
  core: Core,
  request: Request,
  { source, profile }: Pick<Workspace, 'source' | 'profile'> & { source: ExternalSource },
  { whole, filled: place }: Places,
  { access, noted }: { readonly access?: string | undefined; readonly noted?: Promise<void> | undefined },
): Promise<Made> {
  const known = await stateOf(core, request, source, profile, access)
  if (!hasBases(core)) {
    await noted
    const made = await fill(core, request, known, profile, place, access)
    return { source: { ...made.source, base: null }, imported: made.imported, place }
  }
  if (known.base !== undefined) {
    const started = await createFromBase(core, request, whole, known.base, { after: noted, later: true })
    // Not before: whoever makes the base may have ended only now. If the tree does not become durable meanwhile, that is
    // told to whoever waits for it.
    started?.durable.catch(() => undefined)
    if (started !== undefined)
      return { ...(await contentOfBase(core, known.source, known.base)), place: whole, durable: started.durable }
  }
  await noted
  using _ = await lockGroup(core, request, known.group)
  const made =
    known.base === undefined
      ? await updateFromLastBase(core, request, known, profile, place).catch((error: unknown) =>
          fallBackToBase(core, request, known.source, place, error),
        )
      : await createFirstBase(core, request, { ...known, base: known.base }, profile, place, access)
  return { ...made, place }
}

/** What was learned when the base was made holds for all that begin as it; what was asked for is each one's own. */
async function contentOfBase(core: Core, source: ExternalSource, base: string): Promise<Content> {
  const facts = (await basesOf(core)).get(base)
  const { branch, submodules, lfs, refs, cut, verified } = (facts?.source ?? {}) as Partial<GitSource & ArchiveSource>
  const learned =
    source.kind === 'git' ? { branch, submodules, lfs, refs, cut } : source.kind === 'archive' ? { verified } : {}
  const known = Object.fromEntries(Object.entries(learned).filter(([, value]) => value !== undefined))
  return { source: { ...source, ...known, base }, imported: facts?.imported ?? null }
}

interface Known {
  readonly source: ExternalSource
  readonly group: string
  /** The base's name, where the state of a source has one. */
  readonly base?: string
  /** It is what the source has told just now. */
  readonly fresh?: boolean
}

/** What tells one state of a source from another. */
async function stateOf(
  core: Core,
  request: Request,
  source: ExternalSource,
  profile: string,
  access?: string,
): Promise<Known> {
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

async function createFirstBase(
  core: Core,
  request: Request,
  known: Known & { readonly base: string },
  profile: string,
  place: Place,
  access?: string,
): Promise<Content> {
  const { base, group } = known
  // Whoever had the lock before may have made it.
  if (await createFromBase(core, request, place, base)) return contentOfBase(core, known.source, base)
  if (await core.storage.exists(basePlace(base))) await eraseBase(core, request, base, 'unfinished')
  const made = await fill(core, request, known, profile, place, access)
  const facts: BaseFacts = { group, profile, source: made.source, imported: made.imported }
  await freezeBase(core, request, place, base, facts)
  return { source: { ...made.source, base }, imported: made.imported }
}

/** A folder has changed since, or has not: only what differs from its last base is copied. */
async function updateFromLastBase(
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
  const made = await fill(core, request, { source }, profile, place, undefined, {
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

/** A reset of what began as a folder that is gone: the base that it began as is still there. */
async function fallBackToBase(
  core: Core,
  request: Request,
  source: ExternalSource,
  place: Place,
  error: unknown,
): Promise<Content> {
  const { code, data } = toAwError(error)
  if (code !== 'source_failed' || data['gone'] !== true || source.base == null) throw error
  // What was begun there came from the newest base of the folder.
  await core.storage.erase(place)
  if (!(await createFromBase(core, request, place, source.base))) throw error
  return contentOfBase(core, source, source.base)
}

/** The content of a source in a tree that is made for it, without a base. Answers what became known of the source. */
export async function fillWithoutBase(
  core: Core,
  request: Request,
  source: Source,
  profile: string,
  place: Place,
  access?: string,
): Promise<Source> {
  if (!isExternalSource(source))
    throw new AwError('internal', `Nothing is copied from a source of the kind ${source.kind}`)
  const known = await stateOf(core, request, source, profile, access)
  return (await fill(core, request, known, profile, place, access)).source
}
