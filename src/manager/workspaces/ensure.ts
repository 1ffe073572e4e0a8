import type { Inputs } from '../../api/table.ts'
import { toAwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { Core, Request } from '../core.ts'
import { lookUp } from '../kernel/find.ts'
import { checkpointSignal, withWorkspace } from '../kernel/operations.ts'
import { isTreeMissing, missingTree } from '../kernel/missing-tree.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'
import { create } from './create.ts'
import { isWaiting } from './failed-source.ts'

/** Idempotent: the live workspace of that name is the answer, whatever it was made from. */
export async function ensure(core: Core, input: Inputs['ensure'], request: Request): Promise<WorkspaceView> {
  for (let attempt = 0; ; attempt++) {
    const found = await lookUp(core, input.id)
    if (found?.operation === null && !isWaiting(found)) {
      assertAllowed(found, 'path')
      if (await isTreeMissing(core, found)) throw missingTree(found)
      return view(core, found)
    }
    try {
      if (found === undefined || isWaiting(found)) return await create(core, input, request)
      // Somebody works on it, or died over it: afterwards it is there, or the name is free.
      await withWorkspace(core, request, found.id, async () => undefined)
    } catch (error) {
      // Somebody else made it in between: then it is there, or will be in an instant.
      if (toAwError(error).code !== 'workspace_exists' || attempt === 200) throw error
      await core.host.pause(25, request.signal)
      checkpointSignal(request)
    }
  }
}
