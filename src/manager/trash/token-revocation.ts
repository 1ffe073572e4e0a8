import type { WorkspaceId } from '../../domain/ids.ts'
import { tokensNaming } from '../../domain/tokens/tokens.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { appendHome } from '../kernel/home-stream.ts'

/**
 * Takes a workspace that goes, or comes back, from the tokens that name it by its id. It is done before the log has it
 * that the workspace is gone, and once more before it is there again, as one may have been made in between: so no token
 * of a workspace outlives it, whoever dies when.
 */
export async function revokeTokensOf(core: Core, request: Request, workspace: WorkspaceId): Promise<void> {
  const naming = tokensNaming((await core.tokens.all()).values(), workspace)
  if (naming.length === 0) return
  const revoked = naming.map(({ id: token }) =>
    newEvent(core, request, 'token_revoked', { token, reason: 'workspace_destroyed', workspace, from: null }),
  )
  await appendHome(core, ...revoked)
}
