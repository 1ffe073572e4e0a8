import { fillArguments, fillPairs } from '../../domain/agents/fill.ts'
import type { AgentProfile, Credential, CredentialBroker, CredentialSource } from '../../domain/agents/profile.ts'
import { AwError } from '../../domain/errors.ts'
import { brokerUrl, type Broker } from '../../domain/network/broker.ts'
import type { Isolation, Network } from '../../domain/sandbox/spec.ts'
import type { Sandbox } from '../../ports/sandbox-driver.ts'
import type { Core } from '../core.ts'

/** The first way to a credential whose value is there. The value goes no further than it must. */
export async function credentialOf(core: Core, profile: AgentProfile): Promise<FoundCredential | undefined> {
  for (const credential of profile.credentials) {
    const value = await core.agents.value(credential.from)
    if (value !== undefined) return { credential, value }
  }
  return undefined
}

export interface FoundCredential {
  readonly credential: Credential
  readonly value: string
}

/** Where a credential comes from, in words: never what it is. */
export const sourceText = (source: CredentialSource): string =>
  'variable' in source ? source.variable : source.field === undefined ? source.file : `${source.file} (${source.field})`

export interface GrantedCredential {
  readonly brokers: readonly Broker[]
  readonly env: Readonly<Record<string, string>>
  /** For the program, before all others. */
  readonly arguments: readonly string[]
}

export const nothingGranted: GrantedCredential = { brokers: [], env: {}, arguments: [] }

/** Whether a proxy stands between the sandbox and all that it reaches, and so can hold a credential. */
export const canBroker = (isolation: Isolation, network: Network): boolean =>
  isolation === 'namespace' && network.mode === 'allowlist'

/**
 * What a sandbox is given of a credential that its agent uses. Where nothing can keep it out of the sandbox it is refused,
 * unless the setting `agents.unbrokered` says what is to be done instead.
 */
export async function grantCredential(
  core: Core,
  profile: AgentProfile,
  { isolation, network }: { readonly isolation: Isolation; readonly network: Network },
): Promise<GrantedCredential> {
  const found = await credentialOf(core, profile)
  const broker = found?.credential.broker
  // Without a network it is of no use to anybody.
  if (found === undefined || broker === undefined || network.mode === 'none') return nothingGranted
  if (canBroker(isolation, network)) {
    const { name } = broker
    const upstream = await upstreamOf(core, broker)
    const url = { url: brokerUrl(name) }
    return {
      brokers: [{ name, upstream, headers: fillPairs(broker.headers, { value: found.value }) }],
      env: { ...fillPairs(broker.env, url), ...broker.placeholder },
      arguments: fillArguments(broker.arguments ?? [], url),
    }
  }
  const instead = core.config.settings['agents.unbrokered']
  if (instead === 'without') return nothingGranted
  if (instead === 'environment') {
    const names = Object.keys(broker.placeholder)
    return { ...nothingGranted, env: Object.fromEntries(names.map((name) => [name, found.value])) }
  }
  throw credentialExposed(profile, found.credential, isolation, network)
}

/** Where requests go: behind a gateway, what a variable of the user names. */
export const upstreamOf = async (core: Core, broker: CredentialBroker): Promise<string> => {
  const { upstream, upstream_from: variable } = broker
  return (variable === undefined ? undefined : await core.agents.value({ variable })) ?? upstream
}

/** Files with credentials for a command, and the variables that have their paths. */
export async function credentialFiles(
  core: Core,
  profile: AgentProfile,
  box: Sandbox,
): Promise<Record<string, string>> {
  const found = await credentialOf(core, profile)
  const variable = found?.credential.file?.variable
  if (found === undefined || variable === undefined) return {}
  return { [variable]: await box.put(variable, Buffer.from(found.value), 0o400) }
}

function credentialExposed(
  { name, title }: AgentProfile,
  { from }: Credential,
  isolation: Isolation,
  network: Network,
): AwError {
  const where = isolation === 'namespace' ? `the network ${network.mode}` : `the isolation ${isolation}`
  return new AwError(
    'sandbox_unenforceable',
    `Nothing keeps the credential of ${title} (${sourceText(from)}) out of a sandbox with ${where}`,
    {
      hint:
        'Use the isolation namespace and the network allowlist, which are usual with an agent; or start it without a ' +
        'credential: --set agents.unbrokered=without; or let all that runs inside read it: --set agents.unbrokered=environment',
      data: { agent: name, isolation, network: network.mode },
    },
  )
}
