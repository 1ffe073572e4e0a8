import type { Inputs, Outputs } from '../../api/table.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import { parseDuration } from '../../domain/text/duration.ts'
import { isLive, workspaceStates, type WorkspaceStateName } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'
import { boundedMeasure, listBounds } from '../space/measure.ts'
import { sizeOf } from './size.ts'

/** Only looks: it waits for no lock and recovers nothing. */
export async function list(core: Core, input: Inputs['list'], request: Request): Promise<Outputs['list']> {
  const found = await core.store.list({
    task: input.task,
    agent: input.agent,
    states: statesOf(input),
    labels: input.labels,
    createdBefore: input.older_than === undefined ? undefined : ago(core, input.older_than, 'older_than'),
    createdAfter: input.newer_than === undefined ? undefined : ago(core, input.newer_than, 'newer_than'),
    after: input.after as WorkspaceId | undefined,
    limit: input.limit,
  })
  if (input.sizes !== true) return found.map((workspace) => view(core, workspace))
  const ruler = boundedMeasure(core, request, found.length, listBounds)
  const sized: WorkspaceView[] = []
  for (const workspace of found) sized.push({ ...view(core, workspace), ...(await sizeOf(workspace, ruler)) })
  return sized
}

function statesOf(input: Inputs['list']): readonly WorkspaceStateName[] | undefined {
  if (input.state !== undefined) return input.state
  if (input.all === true) return undefined
  return input.trashed === true ? ['trashed'] : workspaceStates.filter(isLive)
}

const ago = (core: Core, duration: string, field: string): string =>
  new Date(core.clock.now().getTime() - parseDuration(duration, field)).toISOString()
