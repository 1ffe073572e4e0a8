import { basename } from 'node:path'
import type { Inputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { generateSegment, sanitizeSegment } from '../../domain/names.ts'
import type { Manager } from '../../ports/manager.ts'
import type { Io } from '../io.ts'
import { realPath, workspaceContaining, type View } from './find-workspace.ts'
import type { Payload } from './payload.ts'

type Asked = Extract<Payload, { event: 'WorktreeCreate' }>

/** With it, the hook knows what it has made. */
export const worktreeLabel = 'claude.worktree'

/**
 * Makes a workspace of the whole state of the folder in which Claude Code stands, and prints where it is, and nothing
 * else. What could not be made whole, or told, goes: nobody would know of it.
 */
export async function createWorktree(manager: Manager, asked: Asked, io: Io): Promise<void> {
  const around = await workspaceContaining(manager, asked.cwd)
  const made =
    around === undefined ? await fromFolder(manager, asked, io) : await fromWorkspace(manager, asked, around, io)
  try {
    await io.stdout.write(`${await printable(manager, made)}\n`)
  } catch (error) {
    await discard(manager, made)
    throw error
  }
}

/** A session that stands in a workspace gets forks of it. */
const fromWorkspace = (manager: Manager, asked: Asked, around: View, io: Io): Promise<View> =>
  createNamed(manager, asked, { task: around.task, from: { workspace: around.id } }, io)

async function fromFolder(manager: Manager, asked: Asked, io: Io): Promise<View> {
  const { checkoutAt } = await import('../../aw.ts')
  const { root, exclude, lists, repository } = checkoutAt(asked.cwd)
  const from = { folder: root, exclude: [...exclude], ignored: lists ? ('listed' as const) : ('all' as const) }
  const made = await createNamed(manager, asked, { task: sanitizeSegment(basename(root)), profile: 'repo', from }, io)
  if (repository === undefined) return made
  try {
    await bringRepository(manager, made, repository, io)
  } catch (error) {
    await discard(manager, made)
    throw error
  }
  return made
}

/** The repository of a linked work tree becomes one with a single work tree: its own. */
async function bringRepository(
  manager: Manager,
  { id }: View,
  pieces: readonly { readonly from: string; readonly to: string }[],
  { signal }: Io,
): Promise<void> {
  for (const { from, to } of pieces) await manager.call('cp', { from, to: `${id}:${to}`, replace: true }, { signal })
  // A repository that has linked work trees only says that it has none.
  const config = Buffer.from(await manager.call('fs read', { id, path: '.git/config' }, { signal })).toString('latin1')
  const content = Buffer.from(config.replace(/^(\s*bare\s*=\s*)true\s*$/im, '$1false\n'), 'latin1')
  await manager.call('fs write', { id, path: '.git/config', content }, { signal })
}

interface Beginning {
  readonly task: string
  /** The work is at the top of it, so that its path is a repository. A fork has that of what it is forked from. */
  readonly profile?: 'repo'
  readonly from: Inputs['create']['from']
}

/** Names may repeat, also between processes that begin at once; then a few letters are added. */
async function createNamed(manager: Manager, asked: Asked, { task, ...beginning }: Beginning, io: Io): Promise<View> {
  const plain = sanitizeSegment(asked.name)
  for (let tried = 0; ; tried++) {
    const agent = tried === 0 ? plain : generateSegment(plain, crypto.getRandomValues(new Uint8Array(6)))
    const input = { id: `${task}/${agent}`, ...beginning, labels: labelsOf(asked) }
    try {
      return await manager.call('create', input, { signal: io.signal })
    } catch (error) {
      if (toAwError(error).code !== 'workspace_exists' || tried === 20) throw error
    }
  }
}

const labelsOf = ({ name, session, cwd }: Asked): Record<string, string> => ({
  [worktreeLabel]: labelText(name),
  ...(session !== '' && { 'claude.session': labelText(session) }),
  'claude.cwd': labelText(cwd),
})

/** The beginning of it, if it is longer than a label may be. */
const labelText = (text: string): string => text.replaceAll(/\p{Cc}/gu, '?').slice(0, 200)

/** The path as the kernel knows it: the working directory of whoever goes there, also after a rename. */
async function printable(manager: Manager, { id, workspace_id: name }: View): Promise<string> {
  await manager.call('path', { id })
  const { content } = await manager.call('paths', { id })
  const path = realPath(content)
  if (path !== undefined && path === path.trim() && !/\p{Cc}/u.test(path)) return path
  throw new AwError('path_not_visible', `The path of ${name} cannot be told to Claude Code: ${JSON.stringify(path)}`, {
    hint: 'Keep workspaces in a directory whose path is plain text: see storage.root',
    data: { id },
  })
}

/** To the trash, like everything. It is unused: nobody has heard of it yet. */
async function discard(manager: Manager, { id }: View): Promise<void> {
  await manager.call('destroy', { id, force: true })
}
