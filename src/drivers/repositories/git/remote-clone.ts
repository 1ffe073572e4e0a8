import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { Cloned, Resolved } from '../../../ports/repositories.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { commitAt, type GitWork, packCommit } from './checkout.ts'
import { fillTree, historyFields, tagOf, withTag, writeRepository } from './clone.ts'
import { gitErrorText, sourceFailure } from '../../../sys/git/failures.ts'
import { CannotNarrow, fetchAll, fetchCommit } from './fetch.ts'
import { openFolder } from '../../../sys/git/folder.ts'
import { discard, hasCommit, isIntact, markUsed, mirrorOf, mirrorRefs, packCount, shallowCommits } from './mirror.ts'
import type { Mirror, MirrorKind } from './mirror.ts'
import { copyPacks } from './objects.ts'
import { nameBytes, refsDigest } from '../../../sys/git/refs.ts'
import type { Remote } from './remote.ts'
import { lockName } from './scratch.ts'

export interface RemoteClone {
  readonly root: string
  readonly resolved: Resolved
  readonly fresh: boolean
  readonly shallow: boolean
  readonly into: string
  readonly defaultBranch: string | null
  readonly remote: Remote
  readonly now: () => Date
}

/** A repository out of a remote one, through its mirror. A mirror that turns out to be damaged is made anew, once. */
export async function cloneRemote(clone: RemoteClone, work: GitWork): Promise<Cloned> {
  try {
    return await attempt(clone, work)
  } catch (error) {
    if (gitErrorText(error) === undefined) throw error
    for (const kind of ['shallow', 'full'] as const) await throwAway(clone, kind, work)
    for (const name of readdirSync(clone.into)) await removeTree(clone.into, name)
    return attempt(clone, work).catch((again: unknown) => {
      throw sourceFailure(again, clone.remote.about)
    })
  }
}

async function throwAway({ root, remote }: RemoteClone, kind: MirrorKind, { signal }: GitWork): Promise<void> {
  const mirror = mirrorOf(root, remote.url, kind)
  using _alone = await lockName(root, mirror.name, { signal })
  await discard(root, mirror)
}

async function attempt(clone: RemoteClone, work: GitWork): Promise<Cloned> {
  let refs: string | undefined
  await withCommit(clone, work, async (mirror, kind) => {
    refs = refsDigest(mirrorRefs(mirror))
    await copyOver(clone, mirror, kind, work)
  })
  return {
    ...(await fillTree(clone.into, clone.resolved, work)),
    ...(!clone.shallow && historyFields(clone.into, refs)),
  }
}

type Use = (mirror: Mirror, kind: MirrorKind) => Promise<void>

/** Uses a mirror that has the commit, and fetches it first if none has. */
async function withCommit(clone: RemoteClone, work: GitWork, use: Use): Promise<void> {
  const { shallow, resolved } = clone
  for (const kind of shallow ? (['full', 'shallow'] as const) : (['full'] as const)) {
    if (await useIfThere(clone, kind, work, use)) return
  }
  let wanted = clone
  let kind: MirrorKind = shallow ? 'shallow' : 'full'
  for (let left = 3; left > 0; left--) {
    kind = await fetchInto(wanted, kind, work)
    // What was told a moment ago may be another by now: what has come is what there is.
    wanted = { ...clone, fresh: false }
    if (await useIfThere(wanted, kind, work, use)) return
  }
  throw new AwError('source_failed', `${resolved.url}: ${resolved.commit} was not among what the remote sent`, {
    hint: 'Try again; if it stays so, give the name of a branch that has this commit',
    data: { url: resolved.url, commit: resolved.commit },
  })
}

/** Several may copy from a mirror at once; nobody changes it meanwhile. */
async function useIfThere(clone: RemoteClone, kind: MirrorKind, work: GitWork, use: Use): Promise<boolean> {
  const { root, resolved, now } = clone
  const mirror = mirrorOf(root, resolved.url, kind)
  if (!existsSync(mirror.path)) return false
  using _shared = await lockName(root, mirror.name, { signal: work.signal, shared: true })
  if (!(await isReady(mirror, kind, clone, work))) return false
  markUsed(mirror.path, now())
  await use(mirror, kind)
  return true
}

async function isReady(mirror: Mirror, kind: MirrorKind, clone: RemoteClone, work: GitWork): Promise<boolean> {
  if (!isIntact(mirror) || !(await hasCommit(mirror, kind, clone.resolved.commit, work))) return false
  return !clone.fresh || (await saysTheSame(mirror, clone, work))
}

/** As the remote, of what is wanted of it besides the commit. */
async function saysTheSame(mirror: Mirror, { resolved, shallow }: RemoteClone, work: GitWork): Promise<boolean> {
  const refs = mirrorRefs(mirror)
  const tag = tagOf(resolved)
  const id = tag === null ? resolved.commit : refs.get(tag)?.id
  if (id === undefined) return false
  if (id !== resolved.commit && (await commitAt(mirror.path, id, work)) !== resolved.commit) return false
  return shallow || resolved.refs === undefined || refsDigest(refs) === resolved.refs
}

/** One fetch at a time: who has waited for another finds what it brought. Answers which mirror has the commit now. */
async function fetchInto(clone: RemoteClone, kind: MirrorKind, work: GitWork): Promise<MirrorKind> {
  const { root, resolved, remote } = clone
  const mirror = mirrorOf(root, resolved.url, kind)
  using _alone = await lockName(root, mirror.name, { signal: work.signal })
  if (await isReady(mirror, kind, clone, work)) return kind
  const fetch = { root, mirror, remote, commit: resolved.commit, tag: tagOf(resolved), work }
  try {
    await (kind === 'full' ? fetchAll(fetch) : fetchCommit(fetch))
    return kind
  } catch (error) {
    if (!(error instanceof CannotNarrow)) throw error
    const note = 'The server does not give this commit without its history: all of it is fetched into the cache'
    work.onProgress?.({ phase: 'counting', percent: null, bytes: null, note })
  }
  return await fetchInto(clone, 'full', work)
}

async function copyOver(clone: RemoteClone, mirror: Mirror, kind: MirrorKind, work: GitWork): Promise<void> {
  const { resolved, shallow, into, defaultBranch } = clone
  const found = await withTag(mirrorRefs(mirror), resolved, (id) => commitAt(mirror.path, id, work))
  const refs = new Map([...found.refs].filter(([name]) => !name.startsWith('refs/aw/')))
  await writeRepository(into, {
    resolved,
    shallow,
    refs,
    cuts: shallowCommits(mirror),
    defaultBranch: defaultBranch === null ? null : nameBytes(defaultBranch),
    async bring(repository) {
      // A pack that holds just what is wanted is copied; out of more, what is wanted is packed.
      if (!shallow || (kind === 'shallow' && packCount(mirror) === 1 && shallowCommits(mirror).length === 1)) {
        using objects = openFolder(join(mirror.path, 'objects'))
        await copyPacks(objects, join(repository, 'objects'), { signal: work.signal })
      } else {
        const objects = { directory: join(mirror.path, 'objects'), files: [] }
        await packCommit(repository, resolved.commit, objects, found.tags, work)
      }
    },
  })
}
