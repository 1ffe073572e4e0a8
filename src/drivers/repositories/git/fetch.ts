import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../../sys/processes/run.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { commitAt, type GitWork } from './checkout.ts'
import { hardenedEnvironment } from '../../../sys/git/environment.ts'
import { gitErrorText, noCommit, sourceFailure } from '../../../sys/git/failures.ts'
import { makeRepository, replaceFile } from '../../../sys/git/layout.ts'
import { discard, isIntact, mirrorRefs, packCount, requestedRef, shallowCommits, type Mirror } from './mirror.ts'
import { formatPackedRefs, nameText, type Ref, type Refs } from '../../../sys/git/refs.ts'
import { asSourceFailure, type Remote } from './remote.ts'
import { refsAt } from './remote-resolve.ts'
import { freshName, sweep } from './scratch.ts'
import { installMirror, mergeIntoMirror, type FetchedRefs } from './update-mirror.ts'

/** Filling a mirror. All of this is done by who has its lock alone. */

export interface Fetch {
  readonly root: string
  readonly mirror: Mirror
  readonly remote: Remote
  readonly commit: string
  /** The whole name of a tag that is wanted too, in bytes. */
  readonly tag: string | null
  readonly work: GitWork
}

/** The server gives single commits only if a branch or tag leads to them, or gives no commits without their history. */
export class CannotNarrow extends Error {}

/** Brings one commit without its history. */
export async function fetchCommit(fetch: Fetch): Promise<void> {
  const { root, mirror, remote, commit, tag, work } = fetch
  // What has grown by many small packs is cheaper to have anew.
  if (existsSync(mirror.path) && (!isIntact(mirror) || packCount(mirror) >= maxPacks)) await discard(root, mirror)
  await inFresh(fetch, async (fresh) => {
    const args = ['fetch', '--depth=1', ...plainFetch, '--', remote.url, commit]
    const ask = (more: string[]): Promise<string> =>
      remote.ask([...args, ...more], { repository: fresh, signal: work.signal, onProgress: work.onProgress })
    try {
      await ask(tag === null ? [] : [nameText(tag)]).catch((error: unknown) => {
        // It was removed since; the commit may still be had.
        if (tag !== null && /find remote ref/i.test(gitErrorText(error) ?? '')) return ask([])
        throw error
      })
    } catch (error) {
      throw cannotNarrow.test(gitErrorText(error) ?? '') ? new CannotNarrow() : sourceFailure(error, remote.about)
    }
    if ((await commitAt(fresh, commit, work)) !== commit) throw noCommit(remote.about.url, commit)
    const before = existsSync(mirror.path) ? mirrorRefs(mirror) : []
    return { refs: new Map([...before, ...fetchedTags(fresh), [requestedRef(commit), { id: commit }]]) }
  })
}

const notGiven = /unadvertised object|not our ref/i
const cannotNarrow = /unadvertised object|not our ref|does not support shallow|shallow capabilities/i

const plainFetch = ['--progress', '--no-tags', '--no-recurse-submodules', '--update-shallow', '--no-auto-gc']
const maxPacks = 24

/** Brings all branches and tags with their history, and the commit if none of them leads to it. */
export async function fetchAll(fetch: Fetch): Promise<void> {
  const { root, mirror, remote, commit, work } = fetch
  if (existsSync(mirror.path) && !isIntact(mirror)) await discard(root, mirror)
  if (!existsSync(mirror.path)) await cloneAll(fetch)
  else {
    await inFresh(fetch, async (fresh) => {
      const [had, has] = [mirrorRefs(mirror), await asSourceFailure(remote.about, () => refsAt(remote, work.signal))]
      const known = new Set([...had.values()].map(({ id }) => id))
      const news = new Set([...has.values()].map(({ id }) => id).filter((id) => !known.has(id)))
      // By their ids: no name has to be one that a file here can have.
      if (news.size > 0) await asSourceFailure(remote.about, () => ask(['--stdin'], [], fresh, [...news].join('\n')))
      const refs = new Map([...asked(had), ...has])
      const isMuch = packCount(mirror) >= maxPacks
      if (isMuch) await packAnew(fresh, refs, work)
      return { refs, everything: isMuch }
    })
  }
  const found = await commitAt(mirror.path, commit, work)
  if (found === commit) return
  // A tag, which has an id too.
  if (found !== undefined) throw noCommit(remote.about.url, commit)
  await inFresh(fetch, async (fresh) => {
    await ask([], [commit], fresh).catch((error: unknown) => {
      throw notGiven.test(gitErrorText(error) ?? '')
        ? noCommit(remote.about.url, commit)
        : sourceFailure(error, remote.about)
    })
    if ((await commitAt(fresh, commit, work)) !== commit) throw noCommit(remote.about.url, commit)
    return { refs: new Map([...mirrorRefs(mirror), [requestedRef(commit), { id: commit }]]) }
  })

  function ask(options: string[], refs: string[], repository: string, input?: string): Promise<string> {
    const args = ['fetch', ...plainFetch, ...options, '--', remote.url, ...refs]
    return remote.ask(args, { repository, signal: work.signal, onProgress: work.onProgress, input })
  }
}

const asked = (refs: Refs): [string, Ref][] => [...refs].filter(([name]) => name.startsWith('refs/aw/'))

/** The first time git may do what it does for a clone, which spares it to look at each object again. */
async function cloneAll({ root, mirror, remote, work }: Fetch): Promise<void> {
  await sweep(root, mirror.name)
  const name = freshName(mirror.name)
  const fresh = join(root, name)
  const args = ['clone', '--bare', '--no-local', '--template=', '--no-recurse-submodules', '--progress', '--']
  try {
    await asSourceFailure(remote.about, () =>
      remote.ask([...args, remote.url, fresh], { signal: work.signal, onProgress: work.onProgress }),
    )
    installMirror(fresh, mirror, mirrorRefs({ name, path: fresh }), remote.url)
  } finally {
    await removeTree(root, name)
  }
}

/** Runs a fetch in a new repository that knows what the mirror has, then takes over what came. */
async function inFresh(
  { root, mirror, remote, commit }: Fetch,
  fill: (fresh: string) => Promise<FetchedRefs>,
): Promise<void> {
  await sweep(root, mirror.name)
  const isNew = !existsSync(mirror.path)
  const name = freshName(mirror.name)
  const fresh = join(root, name)
  try {
    makeRepository(fresh, {
      head: 'refs/heads/main',
      sha256: commit.length === 64,
      bare: true,
      refs: isNew ? new Map() : mirrorRefs(mirror),
      shallow: isNew ? [] : shallowCommits(mirror),
      ...(isNew ? {} : { alternates: join(mirror.path, 'objects') }),
    })
    const brought = await fill(fresh)
    if (isNew) installMirror(fresh, mirror, brought.refs, remote.url)
    else mergeIntoMirror(fresh, mirror, brought)
  } finally {
    await removeTree(root, name)
  }
}

/** One pack of everything that the refs lead to, in the place of many. */
async function packAnew(fresh: string, refs: Refs, { git, signal }: GitWork): Promise<void> {
  replaceFile(join(fresh, 'packed-refs'), formatPackedRefs(refs))
  const env = hardenedEnvironment(fresh)
  await run(git.path, ['repack', '-a', '-d', '-q'], { cwd: '/', env, timeoutMs: 3_600_000, signal, group: true })
}

/** The tags that git has noted in a fetch that stores no refs. */
function fetchedTags(repository: string): Map<string, Ref> {
  const noted = readFileSync(join(repository, 'FETCH_HEAD'), 'latin1').matchAll(
    /^([0-9a-f]{40,64})\t.*\ttag '(.*)' of /gm,
  )
  return new Map([...noted].map(([, id = '', name]) => [`refs/tags/${name}`, { id }]))
}
