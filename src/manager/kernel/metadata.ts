import type { Documents } from '../../domain/sources/creation.ts'
import { toAwError } from '../../domain/errors.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import type { TextRef } from '../../domain/text/ref.ts'
import { repositoryOf, type Workspace } from '../../domain/workspace/state.ts'
import type { FileHandle, FileInfo, FileKind } from '../../ports/files.ts'
import type { Core } from '../core.ts'
import { volumeOf } from './places.ts'
import { openTree } from './trees.ts'

/**
 * The metadata directory is a view for those inside, generated from the log and the workspace's documents; the truth is
 * never read from it. It is written anew whenever the tree gets a new place or content. Nothing is written through a
 * link, and what somebody put in the place of the directory or of a file in it is moved aside, not replaced.
 *
 * `unseen`: the tree is new, and its content may be another's. Then it is not waited for: it can be written again.
 *
 * Answers the names of what was not as it should be.
 */
export function writeMetadata(
  tree: FileHandle,
  workspace: Workspace,
  documents: MetadataTexts,
  { unseen = false } = {},
): string[] {
  const profile = profileOf(workspace.profile)
  const hasRun = workspace.runs !== undefined && !profile.documents.includes('run')
  const names = hasRun ? [...profile.documents, 'run' as const] : profile.documents
  const texts = names.map(
    (name) => [`${name}.json`, `${JSON.stringify(writers[name](workspace, documents), null, 2)}\n`] as const,
  )
  // In the middle of a repository it must not look like something to be committed.
  const isInContent = profile.content === '.'
  const hidden = isInContent ? [['.gitignore', '*\n'] as const] : []
  const all = [...texts, ...hidden]
  const left = unseen ? tree.fill(profile.metadata, all, mode) : all
  if (left.length === 0) return []
  const isNew = !moveObstacleAside(tree, profile.metadata, 'directory')
  if (isNew) tree.mkdir(profile.metadata, { parents: true })
  const changed: string[] = []
  for (const [name, content] of left) {
    const path = `${profile.metadata}/${name}`
    const there = isNew ? undefined : moveObstacleAside(tree, path, 'file')
    if (there && holds(tree, there, content)) continue
    tree.write(path, content, { mode, durable: !unseen })
    changed.push(name)
  }
  // What aw writes for others only is nobody's here, and would be taken for aw's. In the middle of a repository it is the
  // repository's.
  const foreign = documentNames.filter((name) => !names.includes(name)).map((name) => `${name}.json`)
  for (const name of isNew || isInContent ? [] : foreign) {
    const path = `${profile.metadata}/${name}`
    if (at(tree, path) === undefined) continue
    moveAside(tree, path)
    changed.push(name)
  }
  return changed
}

const mode = 0o444

/** A tree that comes back mostly has it already: reading is cheaper than writing. */
function holds(tree: FileHandle, { path, size, links }: FileInfo, content: string): boolean {
  return links === 1 && size === Buffer.byteLength(content) && tree.read(path).equals(Buffer.from(content))
}

/** Something of another kind goes to the next free name beside it. Answers what is there of the right kind. */
function moveObstacleAside(tree: FileHandle, path: string, kind: FileKind): FileInfo | undefined {
  const there = at(tree, path)
  if (there === undefined || there.kind === kind) return there
  moveAside(tree, path)
  return undefined
}

function moveAside(tree: FileHandle, path: string): void {
  let number = 1
  while (at(tree, `${path}.moved-${number}`) !== undefined) number += 1
  tree.rename(path, `${path}.moved-${number}`)
}

function at(tree: FileHandle, path: string): FileInfo | undefined {
  try {
    return tree.stat(path, { follow: false })
  } catch (error) {
    if (toAwError(error).code === 'file_not_found') return undefined
    throw error
  }
}

/**
 * After the tree got a new path or name. What those inside did to the directory (a mode, a mount) may be in the way:
 * that is told, and does not keep a workspace from coming back or getting its name.
 */
export async function refreshMetadata(core: Core, workspace: Workspace): Promise<Problem | undefined> {
  try {
    const documents = await readMetadata(core, workspace)
    using tree = await openTree(core, volumeOf(workspace))
    writeMetadata(tree, workspace, documents)
    return undefined
  } catch (error) {
    const { code, message } = toAwError(error)
    return { code, message: `its metadata directory could not be written: ${message}` }
  }
}

/**
 * Before something runs that believes it: behind no walls, or weak ones, anybody could have changed it. Answers what to
 * tell about that. Needs the lock.
 */
export async function repairMetadata(core: Core, workspace: Workspace): Promise<string[]> {
  // What is seen in sandboxes alone is only ever seen behind walls that keep it.
  if (core.storage.attachment(volumeOf(workspace)).kind !== 'dir') return []
  const { metadata } = profileOf(workspace.profile)
  try {
    const documents = await readMetadata(core, workspace)
    using tree = await openTree(core, volumeOf(workspace))
    const changed = writeMetadata(tree, workspace, documents).toSorted()
    return changed.length === 0 ? [] : [`${metadata} did not match the log and was made again: ${changed.join(', ')}`]
  } catch (error) {
    return [`${metadata} may not match the log and could not be made again: ${toAwError(error).message}`]
  }
}

type Problem = NonNullable<Workspace['problem']>

type MetadataTexts = Documents & { readonly prompt?: string | undefined }

type Writer = (workspace: Workspace, documents: MetadataTexts) => Readonly<Record<string, unknown>>

const nameFields = (workspace: Workspace) => ({ task_id: workspace.task, agent_id: workspace.agent })
const pathFields = (workspace: Workspace) => ({ workspace_path: workspace.path, created_at: workspace.created_at })

const documentNames = ['task_spec', 'workspace_config', 'context', 'run'] as const

const writers: Readonly<Record<(typeof documentNames)[number], Writer>> = {
  task_spec: (workspace, { task_spec = {} }) => ({ ...task_spec, ...nameFields(workspace) }),
  workspace_config: (workspace) => {
    const { documents: _, ...config } = workspace.config
    return { ...nameFields(workspace), ...pathFields(workspace), ...config }
  },
  context: (workspace, { context = {} }) => ({ ...context, ...pathFields(workspace) }),
  // Its time is a unix time, for those who read it in older managers.
  run: (workspace, { run = {}, prompt = null }) => {
    const last = workspace.run ?? workspace.last_run
    const repository = repositoryOf(workspace)
    return {
      run_id: workspace.task,
      repo_id: run['repo_id'] ?? null,
      repo_name: run['repo_name'] ?? (repository === null ? null : repositoryName(repository)),
      prompt: run['prompt'] ?? prompt,
      created_at: Math.floor(Date.parse(workspace.created_at) / 1000),
      ...(last !== undefined && {
        run: last.run,
        number: last.number,
        agent: last.agent,
        prompt_sha256: last.prompt?.sha256 ?? null,
      }),
    }
  },
}

const repositoryName = (url: string): string =>
  url
    .replace(/\/+$/, '')
    .split(/[/:]/)
    .at(-1)
    ?.replace(/\.git$/, '') ?? url

/** The texts that came with the workspace; none if they were erased since. */
export async function readDocuments(core: Core, workspace: Workspace): Promise<Documents> {
  const ref = workspace.config['documents'] as TextRef | undefined
  const text = ref === undefined ? undefined : await core.texts.get(workspace.id, ref)
  return text === undefined ? {} : (JSON.parse(text) as Documents)
}

/** The same with the prompt of the last run, if that may be kept: all that metadata is made of. */
export async function readMetadata(core: Core, workspace: Workspace): Promise<MetadataTexts> {
  const { run: id, prompt = null } = workspace.run ?? workspace.last_run ?? {}
  return {
    ...(await readDocuments(core, workspace)),
    prompt: id === undefined || prompt === null ? undefined : await core.texts.get(id, prompt),
  }
}
