import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Cloned, CloneProgress, Resolved } from '../../../ports/repositories.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { commitAt, type GitWork, packCommit } from './checkout.ts'
import { assertCommit, fillTree, historyFields, withTag, writeRepository } from './clone.ts'
import { objectsOf, openLocal, type LocalRepository } from '../../../sys/git/local.ts'
import { refsOfLocal } from './local-resolve.ts'
import { copyLoose, copyObjects, packsIn } from './objects.ts'
import { refsDigest } from '../../../sys/git/refs.ts'
import { emptyRepository } from './scratch.ts'

interface LocalClone {
  readonly resolved: Resolved
  readonly shallow: boolean
  readonly into: string
  /** Where scratch repositories of ours are. */
  readonly scratch: string
}

/** A repository out of one at a path of this machine: its files are copied, git never runs in it or reads its settings. */
export async function cloneLocal({ resolved, shallow, into, scratch }: LocalClone, work: GitWork): Promise<Cloned> {
  using source = openLocal(resolved.url)
  const found = await refsOfLocal(source, scratch, work)
  const empty = await emptyRepository(scratch, resolved.commit.length === 64)
  if (resolved.ref === null) await assertCommit(empty, resolved, work, objectsOf(source))
  const { refs, tags } = await withTag(found.refs, resolved, (id) => commitAt(empty, id, work, objectsOf(source)))
  await writeRepository(into, {
    resolved,
    shallow,
    refs,
    cuts: localShallowCommits(source),
    defaultBranch: found.head?.replace(/^refs\/heads\//, '') ?? null,
    bring: (repository) =>
      shallow
        ? bringCommit(source, repository, resolved.commit, tags, work)
        : copyObjects(source.objects, join(repository, 'objects'), {
            signal: work.signal,
            onBytes: progressReporter(work),
          }),
  })
  return { ...(await fillTree(into, resolved, work)), ...(!shallow && historyFields(into, refsDigest(found.refs))) }
}

const progressReporter =
  ({ onProgress }: GitWork) =>
  (bytes: number, all: number): void => {
    const percent = all === 0 ? 100 : Math.floor((bytes / all) * 100)
    onProgress?.({ phase: 'receiving', percent, bytes } satisfies CloneProgress)
  }

const localShallowCommits = ({ common }: LocalRepository): string[] =>
  (common.read('shallow')?.toString('latin1') ?? '').split('\n').filter((line) => /^[0-9a-f]{40,64}$/.test(line))

/** More open files than this are not asked for: then the packs are copied first. */
const maxPinned = 200

/**
 * One commit without its history. Git finds the packs of the source in a directory of ours, where each is a link to a
 * file that is open already, so that no name in the source can lead it elsewhere.
 */
async function bringCommit(
  source: LocalRepository,
  repository: string,
  commit: string,
  tags: readonly string[],
  work: GitWork,
): Promise<void> {
  const stage = join(repository, 'stage')
  for (const directory of [stage, join(stage, 'pack')]) hostFs.mkdirSync(directory, 0o700)
  const open: number[] = []
  try {
    const packs = packsIn(source.objects)
    if (packs.length > maxPinned) await copyObjects(source.objects, stage, { signal: work.signal })
    else {
      await copyLoose(source.objects, stage, { signal: work.signal })
      for (const file of packs.flatMap((name) => [`pack/${name}.pack`, `pack/${name}.idx`]))
        pin(source, file, stage, open)
    }
    await packCommit(repository, commit, { directory: stage, files: open }, tags, work)
  } finally {
    for (const fd of open) fs.closeSync(fd)
  }
  await removeTree(repository, 'stage')
}

function pin(source: LocalRepository, file: string, stage: string, open: number[]): void {
  const fd = source.objects.open(file)
  if (fd === undefined) return
  hostFs.symlinkSync(`/proc/self/fd/${3 + open.length}`, join(stage, file))
  open.push(fd)
}
