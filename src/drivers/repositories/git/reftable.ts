import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { isRefName } from '../../../domain/git/ref.ts'
import { run } from '../../../sys/processes/run.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import type { GitWork } from './checkout.ts'
import { hardenedEnvironment } from '../../../sys/git/environment.ts'
import type { Folder } from '../../../sys/git/folder.ts'
import { makeRepository, writeNew } from '../../../sys/git/layout.ts'
import type { LocalRepository } from '../../../sys/git/local.ts'
import { nameBytes, type Head, type Ref, type Refs } from '../../../sys/git/refs.ts'
import { freshName, lockName, sweep } from './scratch.ts'

/** Whether the refs are in tables, which only git can read. */
export const isReftable = ({ common }: LocalRepository): boolean => common.read('reftable/tables.list') !== undefined

interface Tables {
  readonly head: Head
  readonly refs: Refs
}

/** The tables are copied into a repository of ours and read there: git does not see the settings of the source. */
export async function readReftable(source: LocalRepository, root: string, work: GitWork): Promise<Tables> {
  const { version } = work.git
  if (version[0] === 2 && version[1] < 45) {
    throw new AwError(
      'source_failed',
      `The repository keeps its refs in tables that git ${version.join('.')} cannot read`,
      {
        hint: 'Install git 2.45.1 or newer',
      },
    )
  }
  const all = await readTables(source.common, source.objects, root, work)
  // A linked work tree has a HEAD of its own, in tables of its own.
  const own = source.git === source.common ? all : await readTables(source.git, source.objects, root, work)
  return { head: own.head, refs: all.refs }
}

async function readTables(folder: Folder, objects: Folder, root: string, { git, signal }: GitWork): Promise<Tables> {
  using _held = await lockName(root, 'reftable', { signal })
  await sweep(root, 'reftable')
  const name = freshName('reftable')
  const repository = join(root, name)
  try {
    stage(folder, repository)
    const env = hardenedEnvironment(repository, { GIT_OBJECT_DIRECTORY: '/proc/self/fd/3' })
    const options = { cwd: '/', env, timeoutMs: 60_000, signal, files: [objects.fd], maxOutput: 512 * 1024 * 1024 }
    const ask = async (...args: string[]): Promise<string> => (await run(git.path, args, options)).stdout
    const refs = parse(await ask('for-each-ref', `--format=${format}`, 'refs/heads', 'refs/tags'))
    const branch = (await ask('symbolic-ref', '--quiet', 'HEAD').catch(() => '')).trim()
    const head =
      branch === '' ? { id: (await ask('rev-parse', '--verify', 'HEAD')).trim() } : { ref: nameBytes(branch) }
    return { head, refs }
  } finally {
    await removeTree(root, name)
  }
}

const format = '%(objectname) %(*objectname) %(refname)'

function stage(folder: Folder, repository: string): void {
  const tables = folder.names('reftable').flatMap(({ name }) => {
    const content = folder.read(`reftable/${name}`)
    return content === undefined ? [] : [{ name, content }]
  })
  // The second version of the format is the one that has longer ids.
  const sha256 = tables.some(({ name, content }) => name.endsWith('.ref') && content[4] === 2)
  const head = 'refs/heads/.invalid'
  makeRepository(repository, { head, sha256, bare: true, refs: new Map(), shallow: [], reftable: true })
  hostFs.mkdirSync(join(repository, 'reftable'), 0o755)
  for (const { name, content } of tables) writeNew(join(repository, 'reftable', checked(name)), content)
}

function checked(name: string): string {
  if (/^[\w.-]+$/.test(name)) return name
  throw new AwError('source_failed', 'The repository has a table of refs with a name that git does not give')
}

function parse(text: string): Map<string, Ref> {
  const refs = new Map<string, Ref>()
  for (const line of text.split('\n')) {
    const [, id, peeled = '', name = ''] = /^([0-9a-f]{40,64}) ([0-9a-f]*) (refs\/.+)$/.exec(line) ?? []
    if (id === undefined || !isRefName(name) || name.includes('\ufffd')) continue
    refs.set(nameBytes(name), peeled === '' ? { id } : { id, peeled })
  }
  return refs
}
