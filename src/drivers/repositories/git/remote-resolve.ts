import { isRefName, type GitRef } from '../../../domain/git/ref.ts'
import type { Resolved } from '../../../ports/repositories.ts'
import { unknownRef } from './local-resolve.ts'
import { nameBytes, refsDigest, type Ref } from '../../../sys/git/refs.ts'
import { asSourceFailure, type Remote } from './remote.ts'

export interface RemoteResolved {
  readonly resolved: Resolved
  /** The branch that the remote shows first, if it says. */
  readonly defaultBranch: string | null
}

/** What a ref is at a remote. It is asked for just these names; nothing is brought over. */
export async function resolveRemote(
  remote: Remote,
  ref: GitRef,
  { all = false, signal }: { all?: boolean | undefined; signal?: AbortSignal | undefined } = {},
): Promise<RemoteResolved> {
  const candidates = ref.kind === 'name' ? ref.candidates : []
  const patterns = [
    'HEAD',
    ...candidates.flatMap((name) => (name.startsWith('refs/tags/') ? [name, `${name}^{}`] : name)),
  ]
  const allRefs = ['--heads', '--tags', '--refs', '--', remote.url]
  const listing = await ask(['--symref', '--', remote.url, ...patterns])
  const shown = /^ref: (refs\/heads\/\S+)\tHEAD$/m.exec(listing)?.[1] ?? ''
  const branch = isRefName(shown) ? shown : null
  const defaultBranch = branch?.slice('refs/heads/'.length) ?? null
  const refs = all ? { refs: refsDigest(readRefs(await ask(allRefs))) } : {}
  const answer = (commit: string, name: string | null): RemoteResolved => ({
    resolved: { url: remote.url, commit, ref: name, ...refs },
    defaultBranch,
  })
  const found = parse(listing)
  if (ref.kind === 'commit') return answer(ref.commit, null)
  if (ref.kind === 'default') {
    const commit = found.get('HEAD')
    if (commit !== undefined) return answer(commit, branch)
  }
  for (const name of candidates) {
    const commit = found.get(`${name}^{}`) ?? found.get(name)
    if (commit !== undefined) return answer(commit, name)
  }
  throw unknownRef(remote.url, ref, [...parse(await ask(allRefs)).keys()])

  function ask(args: readonly string[]): Promise<string> {
    return asSourceFailure(remote.about, () =>
      remote.ask(['ls-remote', '--quiet', ...args], { signal, silentMs: 60_000 }),
    )
  }
}

const parse = (listing: string): Map<string, string> =>
  new Map(
    listing
      .split('\n')
      .map((line) => /^([0-9a-f]{40}|[0-9a-f]{64})\t(.+)$/.exec(line))
      .filter((match) => match !== null)
      .map(([, id = '', name = '']) => [name, id]),
  )

/** All branches and tags of a remote. A name that is not text, or that git would not give, is left out. */
export async function refsAt(remote: Remote, signal: AbortSignal | undefined): Promise<Map<string, Ref>> {
  return readRefs(
    await remote.ask(['ls-remote', '--quiet', '--heads', '--tags', '--refs', '--', remote.url], { signal }),
  )
}

function readRefs(listing: string): Map<string, Ref> {
  const given = [...parse(listing)].filter(([name]) => isRefName(name) && !name.includes('\ufffd'))
  return new Map(given.map(([name, id]) => [nameBytes(name), { id }]))
}
