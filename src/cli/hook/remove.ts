import { AwError, toAwError } from '../../domain/errors.ts'
import type { Manager } from '../../ports/manager.ts'
import type { Io } from '../io.ts'
import { worktreeLabel } from './create.ts'
import { pathExists, realPath, workspaceContaining, workspaceFormerlyAt, type View } from './find-workspace.ts'

/**
 * Moves what the create hook has made to the trash, with all that was not pushed or committed. Everything else stays as
 * it is and is an error, so that Claude Code does not take it for removed: a path that is not ours, and a workspace that
 * a process or a lease still holds. One that is gone already is not.
 */
export async function removeWorktree(manager: Manager, path: string, io: Io): Promise<void> {
  await finishInterrupted(manager, path, io)
  if (!pathExists(path)) return reportAlreadyGone(manager, path, io)
  const found = await workspaceContaining(manager, path)
  if (found === undefined || found.labels[worktreeLabel] === undefined || !(await isContent(manager, found, path)))
    throw new AwError('permission_denied', `${path} was not made by aw hook claude, so it is left as it is`, {
      hint: 'Remove it by hand if you are sure that nothing in it is needed',
      data: { path },
    })
  await destroy(manager, found, io)
  await io.stderr.write(
    `aw: ${found.workspace_id} is in the trash, with everything that was in it. ` +
      `Bring it back with: aw undelete ${found.id}\n`,
  )
}

/** Neither a process nor a lease is overridden, and nothing is tried in its place. */
async function destroy(manager: Manager, { id, workspace_id: name }: View, { signal }: Io): Promise<void> {
  try {
    await manager.call('destroy', { id, reason: 'agent_completed' }, { signal })
  } catch (error) {
    const { code, message, data } = toAwError(error)
    const hint = `Remove it later with: aw destroy ${name}`
    throw new AwError(code, `It is kept. ${message}`, { hint, data, cause: error })
  }
}

async function isContent(manager: Manager, { id }: View, path: string): Promise<boolean> {
  const { content } = await manager.call('paths', { id })
  return realPath(content) === realPath(path)
}

/** What one that was killed in the middle of this has begun is brought to its end; one that lives is left to itself. */
async function finishInterrupted(manager: Manager, path: string, { signal }: Io): Promise<void> {
  const once = await workspaceFormerlyAt(manager, path)
  if (once === undefined || once.operation === null) return
  await manager.call('recover', { id: once.id }, { signal }).catch((error: unknown) => {
    if (toAwError(error).code !== 'workspace_busy') throw error
  })
}

/** Nothing to do; where it is now is worth a word. */
async function reportAlreadyGone(manager: Manager, path: string, io: Io): Promise<void> {
  const once = await workspaceFormerlyAt(manager, path)
  if (once?.state === 'trashed')
    await io.stderr.write(`aw: ${once.workspace_id} is in the trash already; see aw undelete ${once.id}\n`)
}
