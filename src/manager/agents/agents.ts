import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { Core } from '../core.ts'
import { credentialOf, sourceText } from './credentials.ts'
import { agentOf, knownAgents, type KnownAgent } from './profiles.ts'

type Listed = Outputs['agents list'][number]

export async function listAgents(core: Core): Promise<Outputs['agents list']> {
  const known = await knownAgents(core)
  return Promise.all(
    [...known].map(async ([name, agent]) => (agent instanceof AwError ? unusable(name, agent) : listed(core, agent))),
  )
}

const unusable = (name: string, { message, data }: AwError): Listed => ({
  name,
  title: name,
  installed: false,
  program: null,
  credential: null,
  file: typeof data['file'] === 'string' ? data['file'] : null,
  problem: message,
})

async function listed(core: Core, { profile, file }: KnownAgent): Promise<Listed> {
  const { name, title, binary, reads } = profile
  const found = await core.agents.find(binary, reads)
  const problem = found === undefined ? `there is no ${binary} in PATH` : (found.problem?.message ?? null)
  const credential = await credentialOf(core, profile)
  return {
    name,
    title,
    installed: problem === null,
    program: found?.path ?? null,
    credential: credential === undefined ? null : sourceText(credential.credential.from),
    file,
    problem,
  }
}

export async function showAgent(core: Core, input: Inputs['agents show']): Promise<Outputs['agents show']> {
  const { profile, file } = await agentOf(core, input.name)
  const { name: _, ...fields } = profile
  const found = await core.agents.find(profile.binary, profile.reads)
  const credential = await credentialOf(core, profile)
  const missing = { message: `there is no ${profile.binary} in PATH`, hint: profile.install || null }
  return {
    profile: fields,
    file,
    program: found?.path ?? null,
    runtime: found?.runtime?.path ?? null,
    reads: [...(found?.reads ?? [])],
    credential: credential === undefined ? null : sourceText(credential.credential.from),
    problem: found === undefined ? missing : (found.problem ?? null),
  }
}
