import {
  agentFileNames,
  blocksFor,
  composeAgentText,
  inject,
  maxAgentFileBytes,
  mergeBlocks,
  withoutBlocks,
  type AgentBlock,
  type WithBlocks,
} from '../../domain/workspace/agent-files.ts'
import type { Documents } from '../../domain/sources/creation.ts'
import { toAwError, type ErrorCode } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { WorkspaceName } from '../../domain/names.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { nameOf, type Imported, type Source, type Workspace } from '../../domain/workspace/state.ts'
import type { FileHandle } from '../../ports/files.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { readDocuments } from '../kernel/metadata.ts'
import { originOfTree } from '../kernel/places.ts'
import { openTree } from '../kernel/trees.ts'

/**
 * What aw writes for agents into files that they read: one block between markers, which the log knows by its hash. As long
 * as nobody changes it, it is nobody's work: it is told by no diff, and is in nothing that is handed out.
 */

/** What a tree will have of it, before it is made: what its source brings along, and what comes with the workspace. */
export async function plannedBlocks(
  core: Core,
  workspace: WorkspaceName & Pick<Workspace, 'path' | 'source'>,
  documents: Documents,
): Promise<WithBlocks> {
  const { source } = workspace
  const origin = originOf(source)
  const brought = (origin === null ? undefined : await core.store.get(origin)) ?? {}
  // A fork is as its snapshot was: nothing is added to it.
  if (source.kind === 'workspace') return mergeBlocks({}, brought)
  return mergeBlocks(brought, { agent_blocks: blocksFor(textOf(workspace, documents), filesOf(documents)) })
}

function originOf(source: Source): WorkspaceId | null {
  if (source.kind === 'workspace') return source.workspace
  return source.kind === 'trash' ? originOfTree(source.tree) : null
}

function textOf(workspace: WorkspaceName & Pick<Workspace, 'path'>, documents: Documents): string {
  const { task, agent, path } = workspace
  const variables = { task, agent, workspace: nameOf(workspace), workspace_path: path }
  const composed = documents.agent_files === undefined ? '' : composeAgentText(documents.agent_files, variables)
  return [documents.claude_md ?? '', composed].filter((part) => part !== '').join('\n\n')
}

const filesOf = ({ agent_file_names: more = [] }: Documents): string[] => [...new Set([...agentFileNames, ...more])]

/** The same text for an agent that does not look above the content by itself. Empty if there is none, or no need. */
export async function instructionsBesideContent(core: Core, workspace: Workspace): Promise<string> {
  if (profileOf(workspace.profile).content === '.') return ''
  return textOf(workspace, await readDocuments(core, workspace))
}

export type UntouchedPaths = NonNullable<Imported['untouched_paths']>

/** Answers those that came with the source and cannot be added to: they are not ours to replace. */
export function injectAgentFiles(tree: FileHandle, workspace: Workspace, documents: Documents): UntouchedPaths {
  const text = textOf(workspace, documents)
  if (text === '') return []
  return filesOf(documents).flatMap((path) => {
    try {
      const existing = tree.resolve(path).exists ? tree.read(path, { maxBytes: maxAgentFileBytes }) : null
      tree.write(path, inject(existing, text, blocksAt(workspace, path)))
      return []
    } catch (error) {
      const { code } = toAwError(error)
      if (!foreign.has(code)) throw error
      return [{ path, reason: code }]
    }
  })
}

/** What a link, a directory or something huge in the place of a file gives. */
const foreign: ReadonlySet<ErrorCode> = new Set([
  'symlink_outside_workspace',
  'cannot_resolve_symlinks',
  'path_traversal_attempt',
  'path_outside_workspace',
  'not_a_file',
  'not_a_directory',
  'file_too_large',
])

export const blocksAt = ({ agent_blocks = [] }: WithBlocks, path: string): AgentBlock[] =>
  agent_blocks.filter((block) => block.path === path)

/** Takes unchanged blocks out of a tree that was made from one of the workspace's. Safe to repeat. */
export async function withoutAgentBlocks(core: Core, made: Place, workspace: Workspace): Promise<void> {
  const paths = new Set((workspace.agent_blocks ?? []).map(({ path }) => path))
  if (paths.size === 0) return
  using tree = await openTree(core, made)
  for (const path of paths) {
    const content = contentAt(tree, path)
    if (content === undefined) continue
    const { rest, blocks } = withoutBlocks(content, blocksAt(workspace, path))
    if (rest === null) tree.remove(path)
    else if (blocks > 0) tree.write(path, rest)
  }
}

/** Of a file itself, not of what a link leads to. */
function contentAt(tree: FileHandle, path: string): Buffer | undefined {
  try {
    if (tree.stat(path, { follow: false }).kind !== 'file') return undefined
    return tree.read(path, { maxBytes: maxAgentFileBytes })
  } catch (error) {
    const { code } = toAwError(error)
    if (code === 'file_not_found' || foreign.has(code)) return undefined
    throw error
  }
}
