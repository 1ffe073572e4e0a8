import { fillArguments, fillPairs } from '../../domain/agents/fill.ts'
import type { AgentProfile } from '../../domain/agents/profile.ts'
import { AwError } from '../../domain/errors.ts'
import { bridgeUrl } from '../../domain/network/bridge.ts'
import type { Isolation, Network } from '../../domain/sandbox/spec.ts'
import type { BoxFacts } from '../../domain/workspace/state.ts'
import type { FoundProgram } from '../../ports/agents.ts'
import type { Sandbox, SandboxSpec } from '../../ports/sandbox-driver.ts'
import type { Core } from '../core.ts'
import { splitEnv } from './command.ts'
import { canBroker, credentialFiles, credentialOf, grantCredential, nothingGranted } from './credentials.ts'
import { agentOf } from './profiles.ts'

/** What a sandbox has besides because an agent is to work in it. */
export interface Equipment extends Required<Pick<SandboxSpec, 'binds' | 'env' | 'programs' | 'brokers'>> {
  /** Names in the content that are read-only because of its agent. */
  readonly protect?: readonly string[]
}

const none: Equipment = { binds: [], env: {}, programs: [], brokers: [] }

/** Where the directory with its program is in a `namespace` sandbox. */
const programsInside = '/opt/aw/programs'

/**
 * Made anew each time a sandbox is started, of the profile as it is then: so one that is started again after a restore has
 * the same. `agent_not_installed` if its program is not there.
 *
 * @param instructions what the agent is to be told in its own state, as it would not find it in the workspace
 */
export async function equipmentOf(
  core: Core,
  workspace: string,
  box: Omit<BoxFacts, 'sandbox'>,
  { withCredential = true, instructions = '' } = {},
): Promise<Equipment> {
  if (box.agent === undefined) return none
  const { profile } = await agentOf(core, box.agent)
  const program = await programOf(core, profile)
  const given = withCredential ? await grantCredential(core, profile, box) : nothingGranted
  const { arguments: words = [], env = {}, files = {} } = box.mcp === true ? profile.mcp : {}
  const url = { url: bridgeUrl }
  const { instructions: path } = profile.state
  const places = await core.agents.prepare(workspace, profile.name, {
    program: {
      name: nameInside(profile),
      path: program.path,
      arguments: [...given.arguments, ...fillArguments(words, url)],
    },
    runtime: program.runtime,
    files: { ...profile.state.files, ...fillPairs(files, url) },
    ...(path !== undefined && instructions !== '' && { instructions: { path, text: instructions } }),
  })
  const inside = box.isolation === 'namespace' ? { state: profile.state.mount, programs: programsInside } : places
  const { state, programs } = inside
  return {
    binds: bindsOf(box.isolation, places, inside, program.reads),
    env: {
      ...splitEnv(profile).ofBox,
      ...fillPairs(profile.state.env, { state }),
      ...given.env,
      ...fillPairs(env, { ...url, state }),
    },
    programs: [programs],
    brokers: given.brokers,
    protect: profile.protect,
  }
}

/** As a user would type it. */
export const nameInside = ({ binary }: AgentProfile): string => binary.slice(binary.lastIndexOf('/') + 1)

interface Places {
  readonly state: string
  readonly programs: string
}

/** Without walls all of it is there. What the program reads has the same path inside, as it may know it by that. */
function bindsOf(isolation: Isolation, places: Places, inside: Places, reads: readonly string[]): SandboxSpec['binds'] {
  if (isolation === 'none') return []
  return [
    { source: places.state, target: inside.state, writable: true },
    { source: places.programs, target: inside.programs, writable: false },
    ...reads.map((path) => ({ source: path, target: path, writable: false })),
  ]
}

export async function programOf(core: Core, profile: AgentProfile): Promise<FoundProgram> {
  const { name, title, binary, install, reads } = profile
  const found = await core.agents.find(binary, reads)
  if (found?.problem !== undefined)
    throw new AwError('agent_not_installed', `${title} cannot be started: ${found.problem.message}`, {
      hint: found.problem.hint,
      data: { agent: name, path: found.path },
    })
  if (found !== undefined) return found
  throw new AwError('agent_not_installed', `${title} is not installed: there is no ${binary} in PATH`, {
    hint:
      install === ''
        ? `Install it, or name its program in ${core.home}/agents.d/${name}.json, as binary`
        : `Install it: ${install}; or name its program in ${core.home}/agents.d/${name}.json, as binary`,
    data: { agent: name, binary },
  })
}

/** The rules that a sandbox with an allow-list has because of its agent. */
export async function agentRules(core: Core, agent: string | undefined, isolation: Isolation): Promise<string[]> {
  if (agent === undefined) return []
  const { profile } = await agentOf(core, agent)
  const network: Network = { mode: 'allowlist', allow: [] }
  const found = canBroker(isolation, network) ? await credentialOf(core, profile) : undefined
  return [...profile.network, ...(found?.credential.broker === undefined ? profile.login : [])]
}

/** What a command is given in a sandbox with an agent, besides what all of the sandbox has. */
export async function agentVariables(
  core: Core,
  { agent }: Pick<BoxFacts, 'agent'>,
  box: Sandbox,
): Promise<Record<string, string>> {
  if (agent === undefined) return {}
  const { profile } = await agentOf(core, agent)
  return credentialFiles(core, profile, box)
}
