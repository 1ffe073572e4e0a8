import { AwError } from '../../../domain/errors.ts'
import type { GitRef } from '../../../domain/git/ref.ts'
import { nearest } from '../../../domain/text/nearest.ts'
import type { Resolved } from '../../../ports/repositories.ts'
import { commitAt, type GitWork } from './checkout.ts'
import { objectsOf, openLocal, type LocalRepository } from '../../../sys/git/local.ts'
import { peel } from './read-object.ts'
import {
  nameBytes,
  nameText,
  readHead,
  readRef,
  readRefs,
  refsDigest,
  type Ref,
  type Refs,
} from '../../../sys/git/refs.ts'
import { isReftable, readReftable } from './reftable.ts'
import { emptyRepository } from './scratch.ts'

interface LocalResolve {
  readonly path: string
  readonly ref: GitRef
  readonly all?: boolean | undefined
  readonly scratch: string
  /** Git, once it is needed: most questions are answered without it. */
  readonly work: () => Promise<GitWork>
}

/** What a ref is in a repository of this machine. A few files are read; git is asked only about what is in a pack. */
export async function resolveLocal({ path, ref, all = false, scratch, work }: LocalResolve): Promise<Resolved> {
  using source = openLocal(path)
  if (ref.kind === 'commit' && !all) return { url: path, commit: ref.commit, ref: null }
  const lookUp = isReftable(source) ? await byGit() : byFiles()
  const refs = all ? { refs: refsDigest(lookUp.all()) } : {}
  if (ref.kind === 'commit') return { url: path, commit: ref.commit, ref: null, ...refs }
  const names = ref.kind === 'default' ? defaultNames() : ref.candidates.map(nameBytes)
  if (typeof names === 'string') return { url: path, commit: names, ref: null, ...refs }
  for (const name of names) {
    const found = lookUp.ref(name)
    if (found !== undefined) return { url: path, commit: await commitOf(name, found), ref: nameText(name), ...refs }
  }
  throw unknownRef(path, ref, [...lookUp.all().keys()].map(nameText))

  function byFiles() {
    return {
      head: () => readHead(source.git),
      ref: (name: string) => readRef(source.common, name),
      all: () => readRefs(source.common, ['refs/heads/', 'refs/tags/']),
    }
  }

  async function byGit() {
    const { head, refs } = await readReftable(source, scratch, await work())
    return { head: () => head, ref: (name: string) => refs.get(name), all: () => refs }
  }

  /** The branch, or the commit itself if HEAD is on none. */
  function defaultNames(): string[] | string {
    const head = lookUp.head()
    return 'ref' in head ? [head.ref] : head.id
  }

  async function commitOf(name: string, found: Ref): Promise<string> {
    if (name.startsWith('refs/heads/')) return found.id
    const known = found.peeled ?? peel(source.objects, found.id)
    if (known !== undefined) return known
    const repository = await emptyRepository(scratch, found.id.length === 64)
    const commit = await commitAt(repository, found.id, await work(), objectsOf(source))
    if (commit !== undefined) return commit
    throw new AwError('source_failed', `${path}: the tag ${nameText(name)} leads to no commit`, {
      hint: 'Give a branch, another tag or a commit id',
      data: { url: path, ref: nameText(name) },
    })
  }
}

/** All branches and tags, and the branch that HEAD is on. */
export async function refsOfLocal(
  source: LocalRepository,
  scratch: string,
  work: GitWork,
): Promise<{ refs: Refs; head: string | undefined }> {
  const { refs, head } = isReftable(source)
    ? await readReftable(source, scratch, work)
    : { refs: readRefs(source.common, ['refs/heads/', 'refs/tags/']), head: readHead(source.git) }
  return { refs, head: 'ref' in head ? head.ref : undefined }
}

/** @param known whole names */
export function unknownRef(url: string, ref: GitRef, known: readonly string[]): AwError {
  if (ref.kind !== 'name') {
    const branches = known.filter((name) => name.startsWith('refs/heads/'))
    const there =
      branches.length > 0 ? `Name a branch: ${shown(branches)}` : `It has no branch; name a tag: ${shown(known)}`
    if (known.length > 0)
      return new AwError('source_failed', `${url}: the branch that the repository is on has no commit yet`, {
        hint: there,
        data: { url, known: shortNames(known).slice(0, 20) },
      })
    return new AwError('source_failed', `${url}: the repository has no commit to start from`, {
      hint: 'Make a first commit in it',
      data: { url },
    })
  }
  const short = shortNames(known)
  const near = nearest(ref.name, short)
  const hint = /^[0-9a-f]{4,39}$/.test(ref.name)
    ? 'A commit is given by its whole id, of 40 digits: git rev-parse tells it'
    : near !== undefined
      ? `Did you mean ${near}?`
      : known.length > 0
        ? `There are: ${shown(known)}`
        : 'It has no branches'
  return new AwError('source_failed', `${url}: there is no branch or tag ${ref.name}`, {
    hint,
    data: { url, ref: ref.name, known: short.slice(0, 20) },
  })
}

function shown(names: readonly string[]): string {
  const short = shortNames(names)
  return short.slice(0, 5).join(', ') + (short.length > 5 ? ' …' : '')
}

/** A branch and a tag may have the same name. */
const shortNames = (names: readonly string[]): string[] => [...new Set(names.map(shortName))]

const shortName = (name: string): string => name.replace(/^refs\/(?:heads|tags)\//, '')
