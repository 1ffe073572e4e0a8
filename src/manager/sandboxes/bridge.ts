import { AwError } from '../../domain/errors.ts'
import { bridgeUrl } from '../../domain/network/bridge.ts'
import { defaultScopes, type KnownToken } from '../../domain/tokens/tokens.ts'
import { nameOf, type BoxFacts, type Workspace } from '../../domain/workspace/state.ts'
import type { SandboxSpec } from '../../ports/sandbox-driver.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { makeToken } from '../access/token.ts'

/** A sandbox whose agent reaches the MCP tools of its own workspace, with a token that is valid as long as it stands. */

/** Whether a sandbox is to have one. What needs the daemon is refused without it. */
export async function hasBridge(core: Core, { mcp }: { readonly mcp?: boolean | undefined }): Promise<boolean> {
  if (!(mcp ?? core.config.settings['mcp_bridge.enabled'])) return false
  if (await core.bridge.isOpen()) return true
  throw new AwError('daemon_unavailable', 'The MCP bridge leads to the daemon, and none runs', {
    hint: 'Start one: aw serve --detach; or leave the bridge out: --no-mcp',
    data: { field: 'mcp' },
  })
}

/** Its part of what the driver is to plan; the token comes with the start. */
export const bridgeSpec = (core: Core, { mcp }: Pick<BoxFacts, 'mcp'>): Pick<SandboxSpec, 'bridge'> =>
  mcp === true ? { bridge: { directory: core.bridge.directory } } : {}

export const bridgeEnv = ({ mcp }: Pick<BoxFacts, 'mcp'>): Record<string, string> =>
  mcp === true ? { AW_MCP_URL: bridgeUrl } : {}

/**
 * A token of its own for a sandbox that has a bridge. The intent to start the sandbox is in the log by then: if whoever
 * does it dies, nobody has the token, and it is revoked with what else is left of the sandbox.
 */
export async function newBridgeToken(
  core: Core,
  request: Request,
  { id }: Pick<Workspace, 'id'>,
  { sandbox, mcp }: Pick<BoxFacts, 'sandbox' | 'mcp'>,
): Promise<string | undefined> {
  if (mcp !== true) return undefined
  const rights = { label: 'mcp bridge', scopes: defaultScopes, workspaces: [id], expires_at: null, replaces: null }
  const { secret, facts } = makeToken(core, { ...rights, sandbox })
  await appendHome(core, newEvent(core, request, 'token_created', facts))
  return secret
}

/** Once the sandbox is known to be over, or about to be; safe to repeat. */
export const revokeBridge = (core: Core, request: Request, sandbox: string): Promise<void> =>
  revokeWhere(core, request, async (of) => of === sandbox)

/** Those of sandboxes that the log does not know, or says are over. */
export const revokeLostBridges = (core: Core, request: Request): Promise<void> =>
  revokeWhere(core, request, async (sandbox, { workspaces }) => {
    const found = await Promise.all((workspaces ?? []).map((id) => core.store.get(id as Workspace['id'])))
    return !found.some((workspace) => workspace !== undefined && isSandboxOf(workspace, sandbox))
  })

async function revokeWhere(
  core: Core,
  request: Request,
  isOver: (sandbox: string, token: KnownToken) => Promise<boolean>,
): Promise<void> {
  const events = []
  for (const token of (await core.tokens.all()).values()) {
    if (token.sandbox === undefined || token.revoked !== null || !(await isOver(token.sandbox, token))) continue
    const data = { token: token.id, reason: 'sandbox_ended' as const, workspace: null, from: null }
    events.push(newEvent(core, request, 'token_revoked', data))
  }
  if (events.length > 0) await appendHome(core, ...events)
}

/** Whether a sandbox is one of the workspace's, or about to be. */
export const isSandboxOf = ({ sandbox, commands = [], operation }: Workspace, id: string): boolean =>
  sandbox?.sandbox === id ||
  commands.some((command) => command.own_sandbox && command.sandbox === id) ||
  operation?.intent['sandbox'] === id

/** As much of a sandbox as a command in it has to know. */
export type BoxInside = Pick<BoxFacts, 'sandbox' | 'isolation' | 'mount' | 'agent'>

/**
 * The sandbox that a caller is in. Their commands run there and nowhere else: another one of the same workspace may have
 * more of a network, or memory of its own.
 */
export function sandboxOfCaller(workspace: Workspace, within: string): BoxInside {
  const { sandbox, commands = [] } = workspace
  if (sandbox?.sandbox === within) return sandbox
  const command = commands.find((one) => one.own_sandbox && one.sandbox === within)
  if (command?.inside !== undefined)
    return { sandbox: command.sandbox, isolation: command.isolation, ...command.inside }
  throw new AwError('sandbox_gone', `The sandbox that this came from is not around ${nameOf(workspace)} any more`, {
    data: { id: workspace.id },
  })
}
