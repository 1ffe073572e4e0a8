import { builtInAgents, plainAgent } from '../../domain/agents/built-in.ts'
import { checkProfile } from '../../domain/agents/check.ts'
import type { AgentProfile } from '../../domain/agents/profile.ts'
import { AwError } from '../../domain/errors.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { UserProfile } from '../../ports/agents.ts'
import type { Core } from '../core.ts'

export interface KnownAgent {
  readonly profile: AgentProfile
  /** The user's file that it comes from, or that changes a built-in one. */
  readonly file: string | null
}

/** All agents, the user's own among them, by name. One file that is not right spoils nothing but its own agent. */
export async function knownAgents(core: Core): Promise<ReadonlyMap<string, KnownAgent | AwError>> {
  const known = new Map<string, KnownAgent | AwError>(
    Object.values(builtInAgents).map((profile) => [profile.name, { profile, file: null }]),
  )
  for (const written of await core.agents.written()) known.set(written.name, taken(written))
  return new Map([...known].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** `agent_not_found` if there is none, `invalid_config` if the user's file is not right. */
export async function agentOf(core: Core, name: string): Promise<KnownAgent> {
  const known = await knownAgents(core)
  const found = known.get(name)
  if (found instanceof AwError) throw found
  if (found !== undefined) return found
  const close = nearest(name, [...known.keys()])
  throw new AwError('agent_not_found', `There is no agent ${JSON.stringify(name.slice(0, 80))}`, {
    hint:
      close === undefined
        ? `Known are: ${[...known.keys()].join(', ')}; to add one, write ${core.home}/agents.d/NAME.json`
        : `Did you mean ${close}?`,
    data: { agent: name, known: [...known.keys()] },
  })
}

/** The rest of a profile is that of the built-in one that it names, or of the one with its name. */
function taken({ name, file, content }: UserProfile): KnownAgent | AwError {
  if (content instanceof AwError) return content
  try {
    const named = (content as { extends?: unknown } | null)?.extends
    const base = builtIn(named ?? name)
    if (named !== undefined && base === undefined)
      throw new AwError('invalid_config', `The agent profile ${name} is not right: extends names no built-in agent`, {
        hint: `There are: ${Object.keys(builtInAgents).join(', ')}`,
        data: { file, field: 'extends' },
      })
    return { profile: checkProfile(name, content, base ?? plainAgent(name), file), file }
  } catch (error) {
    if (error instanceof AwError) return error
    throw error
  }
}

const builtIn = (name: unknown): AgentProfile | undefined =>
  typeof name === 'string' && Object.hasOwn(builtInAgents, name) ? builtInAgents[name] : undefined
