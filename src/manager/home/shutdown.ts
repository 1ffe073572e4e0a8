import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { isLive, nameOf, workspaceStates, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { destroy } from '../trash/destroy.ts'
import { endBoxes } from '../sandboxes/stop.ts'
import { withWorkspace } from '../kernel/operations.ts'

type Result = Outputs['shutdown']['results'][number]

/**
 * What happens to workspaces when their pod or daemon stops. One that fails is reported and does not keep the
 * others from being handled; when the time is over, the rest stay as they are.
 */
export async function shutdown(core: Core, input: Inputs['shutdown'], request: Request): Promise<Outputs['shutdown']> {
  const policy = input.policy ?? core.config.settings['shutdown.policy']
  const limit = AbortSignal.timeout(input.timeout_ms ?? core.config.settings['shutdown.timeout_ms'])
  const signal = request.signal === undefined ? limit : AbortSignal.any([request.signal, limit])
  const live = await core.store.list({ task: input.task, states: workspaceStates.filter(isLive) })
  const results: Result[] = []
  for (const workspace of live) results.push(await applyPolicy(core, policy, workspace, { ...request, signal }))
  return { policy, results, timed_out: limit.aborted }
}

/** `stop` ends what runs around a workspace and keeps its tree; a workspace with nothing running is left as it is. */
async function applyPolicy(
  core: Core,
  policy: 'keep' | 'stop' | 'trash',
  workspace: Workspace,
  request: Request,
): Promise<Result> {
  const about = { id: workspace.id, name: nameOf(workspace) }
  if (policy === 'keep') return { ...about, ok: true, error: null }
  try {
    if (request.signal?.aborted) throw new AwError('timeout', 'The time for shutting down is over; it was kept')
    if (policy === 'stop') {
      await withWorkspace(core, request, workspace.id, (now) => endBoxes(core, request, now, 'shutdown'))
      return { ...about, ok: true, error: null }
    }
    await destroy(core, { id: workspace.id, force: true, reason: 'pod_shutdown' }, request)
    return { ...about, ok: true, error: null }
  } catch (error) {
    const { code, message, hint } = toAwError(error)
    return { ...about, ok: false, error: { code, message, hint: hint ?? null } }
  }
}
