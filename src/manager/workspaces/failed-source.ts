import { AwError, toAwError } from '../../domain/errors.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { buildTree } from './build.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { append, nameFields } from '../kernel/operations.ts'
import { stageOf, volumeOf } from '../kernel/places.ts'
import { undoLog } from '../kernel/rollback.ts'
import { publish } from './publish.ts'

/** A repository may be there tomorrow, and whoever asked for it may not be here now: the workspace waits for both. */
export const isSourceUnavailable = ({ source }: Workspace, error: unknown): boolean =>
  source.kind === 'git' && toAwError(error).code === 'source_failed'

/** It holds its name and nothing else: the source could not be had. */
export const isWaiting = ({ state, problem, operation }: Workspace): boolean =>
  state === 'failed' && problem?.code === 'source_failed' && operation === null

/** Makes the workspace all the same, empty and `failed`. Answers the error to tell. */
export async function createEmptyFailed(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  cause: unknown,
): Promise<AwError> {
  const { code, message, hint, data } = toAwError(cause)
  const volume = volumeOf(workspace)
  const undo = undoLog()
  try {
    await buildTree(core, request, { ...workspace, source: { kind: 'empty' } }, operation, undo)
    undo.add(() => core.storage.erase(volume))
    await core.storage.move(stageOf(operation), volume)
    await publish(core, workspace, undo)
    const { path, created_at } = workspace
    const problem = { code, message }
    const outcome = { ...nameFields(workspace), workspace_path: path, created_at, problem }
    await append(core, request, workspace, [newEvent(core, request, 'workspace_source_failed', outcome, operation)])
    undo.keep()
  } catch (error) {
    // The workspace stays in the middle of its creation; recovery clears it away.
    await undo.run()
    return toAwError(error)
  }
  const name = nameOf(workspace)
  const { source } = workspace
  // Trying again helps where a branch may come to be; where there are others, one of these may be what is wanted.
  const another =
    source.kind === 'git' && (source.ref !== null || data['known'] !== undefined)
      ? `, and name ${source.ref === null ? 'a' : 'another'} ref: aw create ${name} --repo ${source.url} --ref …`
      : ''
  const next = `${name} is kept, empty: try again with aw reset ${name}, or remove it with aw destroy ${name}${another}`
  return new AwError(code, message, {
    hint: hint === undefined ? next : `${hint}${hint.endsWith('?') ? '' : '.'} ${next}`,
    data: { ...data, id: workspace.id, workspace: name },
    cause,
  })
}
