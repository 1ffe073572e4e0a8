import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { findWithRun } from '../kernel/find.ts'
import { runEndOf } from './end.ts'
import { findRun, noRun, type RunView } from './queries.ts'
import { settle } from './settle.ts'

/** Until the last run of a workspace has ended, or the one whose id was given; then it is in the log. */
export async function wait(core: Core, input: Inputs['wait'], request: Request): Promise<RunView> {
  const { workspace: found, run: named } = await findWithRun(core, input.id)
  const { id } = found
  const run = named ?? found.run?.run ?? found.last_run?.run
  if (run === undefined) throw noRun(found)
  const until = input.timeout_ms === undefined ? Infinity : performance.now() + input.timeout_ms
  for (;;) {
    const workspace = await core.store.get(id)
    if (workspace === undefined) throw noRun(found)
    if (workspace.run?.run !== run) return findRun(core, workspace, run)
    if ((await runEndOf(core, workspace, workspace.run)) !== undefined) await settle(core, request, id)
    else if (performance.now() >= until) throw stillRuns(workspace)
    else await core.host.pause(50, request.signal)
    if (request.signal?.aborted)
      throw new AwError('aborted', 'The caller cancelled this', { cause: request.signal.reason })
  }
}

const stillRuns = (workspace: Workspace): AwError =>
  new AwError('timeout', `The run of ${nameOf(workspace)} goes on`, {
    hint: `Wait longer, or end it: aw cancel ${nameOf(workspace)}`,
    data: { id: workspace.id, run: workspace.run?.run },
  })
