import { AwError } from '../../domain/errors.ts'
import { checkRefName, isCommitId, parseGitRef } from '../../domain/git/ref.ts'
import { parseGitUrl, type RemoteUrl } from '../../domain/git/url.ts'
import type { CloneRequest, Repositories, Resolved } from '../../ports/repositories.ts'
import { ensureDirectory } from '../../sys/fs/directories.ts'
import type { GitWork } from './git/checkout.ts'
import { listMirrors, removeMirror } from './git/inventory.ts'
import { cloneLocal } from './git/local-clone.ts'
import { openLocal, realPathOf } from '../../sys/git/local.ts'
import { resolveLocal } from './git/local-resolve.ts'
import { gitProgram } from '../../sys/git/program.ts'
import { cloneRemote } from './git/remote-clone.ts'
import { resolveRemote } from './git/remote-resolve.ts'
import { asSourceFailure, openRemote } from './git/remote.ts'
import { countUncommitted } from './git/uncommitted.ts'

interface Places {
  /** The directory of the caches; it is made when the first one is. */
  readonly root: string
  /** Where agents work: no program of theirs is run. */
  readonly avoid: readonly string[]
}

/** Repositories through the git of this machine. */
export function gitRepositories({ root, avoid }: Places): Repositories {
  const program = gitProgram(avoid)
  const defaultBranches = new Map<string, string | null>()
  const remoteOf = async (url: RemoteUrl, signal?: AbortSignal) =>
    openRemote({ git: await program(signal), url, avoid, signal })

  async function cloneFrom({ url: given, resolved, fresh = false, shallow, into }: CloneRequest, work: GitWork) {
    const url = parseGitUrl(given)
    if (url.kind === 'path') {
      return asSourceFailure({ url: url.clean, secrets: [] }, () =>
        cloneLocal({ resolved: { ...resolved, url: url.clean }, shallow, into, scratch: root }, work),
      )
    }
    const remote = await remoteOf(url, work.signal)
    const defaultBranch = defaultBranches.get(url.clean) ?? null
    const now = (): Date => new Date()
    return cloneRemote(
      { root, resolved: { ...resolved, url: url.clean }, fresh, shallow, into, defaultBranch, remote, now },
      work,
    )
  }

  return {
    async identify(given) {
      const url = parseGitUrl(given)
      if (url.kind !== 'path') return url.clean
      openLocal(url.clean)[Symbol.dispose]()
      return parseGitUrl(realPathOf(url.clean)).clean
    },
    async uncommitted(given, signal) {
      const url = parseGitUrl(given)
      if (url.kind !== 'path') return undefined
      ensureDirectory(root, 0o700)
      const work = { git: await program(signal), signal }
      const { clean: path } = parseGitUrl(realPathOf(url.clean))
      const head = { path, ref: parseGitRef(null), scratch: root, work: async () => work }
      const { commit } = await resolveLocal(head)
      return countUncommitted({ path, commit, scratch: root }, work)
    },
    async resolve({ url: given, ref: name, all, signal }) {
      const [url, ref] = [parseGitUrl(given), parseGitRef(name)]
      if (url.kind === 'path') {
        const work = async (): Promise<GitWork> => {
          ensureDirectory(root, 0o700)
          return { git: await program(signal), signal }
        }
        const { clean: path } = parseGitUrl(realPathOf(url.clean))
        return asSourceFailure({ url: url.clean, secrets: [] }, () =>
          resolveLocal({ path, ref, all, scratch: root, work }),
        )
      }
      const { resolved, defaultBranch } = await resolveRemote(await remoteOf(url, signal), ref, { all, signal })
      defaultBranches.set(url.clean, defaultBranch)
      return resolved
    },
    async clone(request) {
      checkResolved(request.resolved)
      ensureDirectory(root, 0o700)
      const { signal, onProgress } = request
      return cloneFrom(request, { git: await program(signal), signal, onProgress })
    },
    list: () => listMirrors(root),
    remove: (name) => removeMirror(root, name),
  }
}

/** It may have been recorded long ago, or by somebody else. */
function checkResolved({ commit, ref }: Resolved): void {
  if (!isCommitId(commit)) throw new AwError('invalid_input', 'A repository is cloned at a commit, by its whole id')
  if (ref === null) return
  checkRefName(ref)
  if (!/^refs\/(?:heads|tags)\/./.test(ref)) throw new AwError('invalid_input', 'A ref is a branch or a tag')
}
