import * as fs from 'node:fs'
import { basename, join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { isCommitId } from '../../../domain/git/ref.ts'
import type { AddedTree, AddOptions, CommitOptions, ResultRepository, TakeOptions } from '../../../ports/git-results.ts'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { run } from '../../../sys/processes/run.ts'
import { directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { hardenedEnvironment, lenientFsck } from '../../../sys/git/environment.ts'
import { exportFailure } from '../../../sys/git/failures.ts'
import { formatShallow, makeRepository, replaceFile } from '../../../sys/git/layout.ts'
import { objectId } from './new-objects.ts'
import type { GitProgram } from '../../../sys/git/program.ts'
import { pushCommit } from './push.ts'
import { withNormalizedLineEnds } from './line-ends.ts'
import { writeBundle, writeFiles, writePatch } from './result-files.ts'
import type { Target } from './target.ts'
import { nothingTracked, treeStream, type Report, type Tracked } from './tree-stream.ts'
import { stripAgentBlocks } from './strip-agent-blocks.ts'

/** Where results are put together: a repository of ours, which finds what a target has in the target. */
export interface StagingRepository {
  readonly git: GitProgram
  readonly repository: string
  readonly sha256: boolean
  readonly target: Target | undefined
  readonly signal: AbortSignal | undefined
  /** What git says here. A failure is `export_failed`. */
  readonly ask: (args: readonly string[], options?: StagingOptions) => Promise<string>
}

interface StagingOptions {
  readonly input?: string | Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

const hour = 3_600_000

export function openStagingRepository(
  git: GitProgram,
  directory: string,
  { target, sha256, signal }: { target: Target | undefined; sha256: boolean; signal: AbortSignal | undefined },
): StagingRepository {
  const repository = join(directory, 'results.git')
  makeRepository(repository, {
    head: 'refs/heads/main',
    sha256,
    bare: true,
    refs: new Map(),
    shallow: target?.cuts ?? [],
    ...(target && { alternates: alternate(join(target.common, 'objects')) }),
  })
  return {
    git,
    repository,
    sha256,
    target,
    signal,
    async ask(args, { input, env } = {}) {
      const options = {
        cwd: '/',
        env: hardenedEnvironment(repository, { ...env }),
        timeoutMs: hour,
        signal,
        group: true,
      }
      try {
        return (await run(git.path, args, { ...options, input, maxOutput, ...bytes })).stdout
      } catch (error) {
        throw exportFailure(error, 'The export cannot be made')
      }
    },
  }
}

/** A tree that names itself over and over has more files than can be listed: that is no repository. */
const maxOutput = 256 * 1024 * 1024
const bytes = { encoding: 'latin1', endsAtMax: true } as const

/** As git reads it: in quotes if it could be taken for something else than a path. */
const alternate = (path: string): string =>
  /^[#"]|[\n"\\]/.test(path) ? `"${path.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"` : path

/** What is put together there; see the port. */
export function resultRepository(staging: StagingRepository): ResultRepository {
  let trees = 0
  return {
    take: (pack, options) => take(staging, pack, options),
    treeIn,
    async known(commits) {
      const ids = commits.filter(isCommitId)
      if (ids.length === 0) return []
      const found = await staging.ask(['cat-file', '--batch-check=%(objectname) %(objecttype)'], { input: lines(ids) })
      return found.split('\n').flatMap((line) => (line.endsWith(' commit') ? [line.split(' ')[0] ?? ''] : []))
    },
    isAncestor: (commit, of) => succeeds(staging, ['merge-base', '--is-ancestor', commit, of]),
    count: async (to, without) =>
      Number(await staging.ask(['rev-list', '--count', to, ...without.map((id) => `^${id}`)])),
    treeOf: async (commit) => (await staging.ask(['rev-parse', '--verify', `${commit}^{tree}`])).trim(),
    async resolve(name) {
      const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
      const found = (await staging.target?.ask(args).catch(() => ''))?.trim()
      if (found !== undefined && isCommitId(found)) return found
      throw new AwError('invalid_input', `${JSON.stringify(name)} is no commit of ${staging.target?.path}`, {
        hint: 'Give the name of a branch or a tag, or a commit id',
        data: { field: 'onto' },
      })
    },
    add: (directory, options) => add(staging, directory, options, `refs/aw/tree-${++trees}`),
    checkOut: (tree, directory) => writeFiles(staging, tree, directory),
    commit: (options) => commit(staging, options),
    without: (id, options) => stripAgentBlocks(staging, id, options),
    patch: (from, to, file) => writePatch(staging, from, to, file),
    bundle: (id, options) => writeBundle(staging, id, options),
    branch: (id, options) => pushCommit(staging, id, options),
  }
}

const lines = (items: readonly string[]): string => items.map((item) => `${item}\n`).join('')

async function take(
  { repository, target, ask }: StagingRepository,
  pack: AsyncIterable<Uint8Array>,
  options: TakeOptions,
) {
  const { maxBytes, cuts = [] } = options
  const all = [...new Set([...(target?.cuts ?? []), ...cuts.filter(isCommitId)])]
  if (cuts.length > 0) replaceFile(join(repository, 'shallow'), formatShallow(all))
  await ask(['index-pack', '--stdin', `--strict=${lenientFsck}`, `--max-input-size=${maxBytes}`], { input: pack })
}

function treeIn(commit: string, content: Uint8Array): string {
  const tree = /^tree ([0-9a-f]{40}|[0-9a-f]{64})\n/.exec(Buffer.from(content).toString('latin1', 0, 80))?.[1]
  if (tree !== undefined && objectId('commit', content, commit.length === 64) === commit) return tree
  throw new AwError('export_failed', `The repository in the workspace has something else under the id ${commit}`, {
    hint: 'Compare with a snapshot instead: --since SNAPSHOT',
    data: { commit },
  })
}

async function succeeds({ ask }: StagingRepository, args: readonly string[]): Promise<boolean> {
  try {
    await ask(args)
    return true
  } catch (error) {
    if (error instanceof AwError && error.code === 'export_failed') return false
    throw error
  }
}

async function add(
  staging: StagingRepository,
  directory: string,
  options: AddOptions,
  ref: string,
): Promise<AddedTree> {
  const tracked = options.tracked === null ? nothingTracked : await trackedIn(staging, options.tracked, options.exclude)
  const report: Report = { files: 0, bytes: 0, ignored: 0, leftOut: [] }
  const top = openContent(directory)
  try {
    const stream = treeStream(top, ref, { ...options, tracked }, report)
    await staging.ask(['fast-import', '--quiet', '--done', '--date-format=raw'], { input: stream })
  } finally {
    fs.closeSync(top)
  }
  const found = (await staging.ask(['rev-parse', '--verify', `${ref}^{tree}`])).trim()
  const tree = options.tracked === null ? found : await withNormalizedLineEnds(staging, options.tracked, tracked, found)
  const left = report.leftOut.map(({ path, reason }) => ({ path: Buffer.from(path, 'latin1').toString(), reason }))
  return { tree, files: report.files, ignored: report.ignored, left_out: left }
}

function openContent(directory: string): number {
  const top = ignoreErrors(['ENOTDIR', 'ENOENT', 'ELOOP'], () => fs.openSync(directory, directoryFlags))
  if (top !== undefined) return top
  const name = basename(directory)
  throw new AwError('export_failed', `In the place of the content of the workspace is no directory: ${name}`, {
    hint: `Make ${name} a directory again, or export an earlier state: WORKSPACE@SNAPSHOT`,
    data: { path: name },
  })
}

async function trackedIn({ ask }: StagingRepository, tree: string, exclude: readonly string[]): Promise<Tracked> {
  const files = new Set<string>()
  const links = new Map<string, string>()
  const excluded: { mode: string; id: string; path: string }[] = []
  for (const line of (await ask(['ls-tree', '-r', '-z', '--full-tree', tree])).split('\0')) {
    const [, mode = '', id = '', path] = /^(\d+) \w+ ([0-9a-f]+)\t([^]+)$/.exec(line) ?? []
    if (path === undefined) continue
    if (exclude.includes(path.split('/', 1)[0] ?? '')) excluded.push({ mode, id, path })
    else if (mode === '160000') links.set(path, id)
    else files.add(path)
  }
  return { files, links, excluded }
}

async function commit(
  { ask }: StagingRepository,
  { tree, parent, message, author, at }: CommitOptions,
): Promise<string> {
  const when = `${Math.floor(at.getTime() / 1000)} +0000`
  const env = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => [
      [`GIT_${who}_NAME`, author.name],
      [`GIT_${who}_EMAIL`, author.email],
      [`GIT_${who}_DATE`, when],
    ]),
  ) as Record<string, string>
  const parents = parent === null ? [] : ['-p', parent]
  return (await ask(['commit-tree', ...parents, '-F', '-', tree], { env, input: `${message.trimEnd()}\n` })).trim()
}
