import type { Inputs } from '../../api/table.ts'
import { toAwError, AwError } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import { parseName } from '../../domain/names.ts'
import { assertCommandTexts } from '../../domain/sandbox/command.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { grantCredential } from '../agents/credentials.ts'
import { agentOf } from '../agents/profiles.ts'
import { assertEnforceable, planSandbox, type SandboxRequest } from '../sandboxes/plan.ts'
import { type Core, type Request, uncancellable } from '../core.ts'
import { destroyUnderLock } from '../trash/destroy.ts'
import { countChangesSinceBaseline } from '../diff/baseline.ts'
import { withWorkspace } from '../kernel/operations.ts'
import type { PlannedCommand } from './command.ts'

type Input = Inputs['run']

/** The walls that a run asks for. */
export const sandboxRequestOf = (input: Input, { agent, isolation }: PlannedCommand): SandboxRequest => ({
  ...input,
  agent: agent ?? undefined,
  isolation: isolation ?? input.isolation,
})

/**
 * Refuses whatever can be refused before there is a workspace, so that none is made for it.
 *
 * @param origin what it would be a fork of
 */
export async function assertRunPossible(
  core: Core,
  input: Input,
  command: PlannedCommand,
  origin?: Workspace,
): Promise<void> {
  assertCommandTexts(command)
  const { id, profile = core.config.settings['workspaces.profile'] } = input
  const workspace = origin ?? { id: '', profile, task: id === undefined ? '' : parseName(id).task }
  const box = await planSandbox(core, workspace, sandboxRequestOf(input, command))
  if (box.agent !== undefined) await grantCredential(core, (await agentOf(core, box.agent)).profile, box)
  await assertEnforceable(core, box, workspace.profile)
}

/**
 * Moves a workspace to the trash that was made for a run which never began. Answers its name, unless it stays: somebody
 * may have put work into it meanwhile.
 */
export async function discardWorkspace(core: Core, request: Request, id: WorkspaceId): Promise<string | undefined> {
  const still = uncancellable(request)
  try {
    return await withWorkspace(core, still, id, async (workspace) => {
      if ((await countChangesSinceBaseline(core, still, workspace)) > 0) return undefined
      return nameOf(await destroyUnderLock(core, { id, reason: 'failed_create' }, workspace, still))
    })
  } catch {
    // Somebody uses it, or has removed it, or nobody can tell whether there is work in it: what was in the way of the run is what the caller has to know.
    return undefined
  }
}

/** The same; answers the error that was in the way of the run, which then says so. */
export async function discardAndExplain(
  core: Core,
  request: Request,
  id: WorkspaceId,
  error: unknown,
): Promise<AwError> {
  const cause = toAwError(error)
  const name = await discardWorkspace(core, request, id)
  if (name === undefined) return cause
  const { code, message, hint, data } = cause
  const where = `The workspace made for this run is in the trash; bring it back with: aw undelete ${name}`
  return new AwError(code, message, { hint: hint === undefined ? where : `${hint}. ${where}`, data, cause })
}
