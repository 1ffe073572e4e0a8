import { AwError } from '../errors.ts'
import { nearest } from '../text/nearest.ts'
import type { Address } from './address.ts'
import { classifyAddress, type AddressClass } from './address-class.ts'
import { hostText, parseAuthority, type Host } from './host.ts'
import { presetHosts, presetNames } from './presets.ts'
import { looksLikePublicSuffix, sharedHostAt } from './shared-hosts.ts'

/** One line of an allow-list, understood. */
export interface Rule {
  /** As it is compared: a name or an address. */
  readonly host: string
  /** It was `*.host`: it holds for the names below the host, at any depth, and not for the host. */
  readonly below: boolean
  readonly ports: readonly number[]
  /** Where it leads without being looked up: the owner has written an address, or `localhost`. */
  readonly addresses?: readonly Address[] | undefined
}

/** What a request wants to reach. */
export interface Target {
  readonly host: Host
  readonly port: number
}

export type Judgement =
  /** `addresses`: exactly these; without it, the public ones that the name leads to. */
  | { readonly allowed: true; readonly addresses?: readonly Address[] | undefined }
  | { readonly allowed: false; readonly reason: 'not_listed' | 'port_not_listed' }

/** Whatever no rule names is refused; so no rules refuse everything. */
export function judge(rules: readonly Rule[], { host, port }: Target): Judgement {
  const about = rules.filter((rule) => holdsFor(rule, host))
  const rule = about.find(({ ports }) => ports.includes(port))
  if (rule !== undefined) return { allowed: true, addresses: rule.addresses }
  return { allowed: false, reason: about.length === 0 ? 'not_listed' : 'port_not_listed' }
}

/**
 * The rules that an owner wrote: `host` (its ports 443 and 80), `host:port`, `*.host`, `*.host:port`, or the name of a
 * preset. An address, and `localhost`, need a port: they are let through whatever they lead to, so they are as narrow as
 * can be. `invalid_input` for all else.
 */
export const parseRules = (texts: readonly string[]): readonly Rule[] =>
  texts.flatMap((text) => (presetHosts(text) ?? [text]).map(parseRule))

function parseRule(text: string): Rule {
  if (typeof text !== 'string') throw refused('A rule is a text')
  const below = text.startsWith('*.')
  const authority = parseAuthority(below ? text.slice(2) : text)
  if (authority === undefined) throw below ? notBelow(text) : notAHost(text)
  const { host, port } = authority
  if (below) checkWildcard(host)
  const addresses = fixedAddresses(host)
  if (addresses !== undefined) checkAddresses(host, addresses, port)
  return { host: host.text, below, ports: port === undefined ? defaultPorts : [port], addresses }
}

const defaultPorts = [443, 80]

const loopbacks: readonly Address[] = [
  { family: 4, text: '127.0.0.1', bytes: [127, 0, 0, 1] },
  { family: 6, text: '::1', bytes: [...Array.from({ length: 15 }, () => 0), 1] },
]

/** Where a host leads without being looked up; undefined if it has to be. */
export const fixedAddresses = (host: Host): readonly Address[] | undefined =>
  host.text === 'localhost' ? loopbacks : host.address && [host.address]

/** Whole labels are compared: `ok.com` is neither in `notok.com` nor in `ok.com.evil`. */
function holdsFor(rule: Rule, host: Host): boolean {
  if (!rule.below) return rule.host === host.text
  return host.address === undefined && host.text.endsWith(`.${rule.host}`)
}

function checkWildcard(host: Host): void {
  const star = `*.${hostText(host)}`
  if (host.address !== undefined || host.text === 'localhost') {
    throw refused(`${star} names nothing: only below a name there are names`)
  }
  if (looksLikePublicSuffix(host.text)) throw tooWide(star)
  const shared = sharedHostAt(host.text)
  if (shared !== undefined) {
    throw refused(`${star} would allow what anybody puts at ${shared}`, 'Write out each host that is needed there')
  }
}

/** Link-local ones and those of a cloud's metadata give away the machine; the others there are nobody's. */
const reachable: readonly AddressClass[] = ['public', 'private', 'shared', 'loopback']

/** Whether an address that the owner has named may be reached at all. */
export const isReachable = (address: Address): boolean => reachable.includes(classifyAddress(address))

function checkAddresses(host: Host, addresses: readonly Address[], port: number | undefined): void {
  if (port === undefined) {
    throw refused(
      `${hostText(host)} needs a port`,
      `Write ${hostText(host)}:PORT: an address is allowed at one port only`,
    )
  }
  const wrong = addresses.find((address) => !isReachable(address))
  if (wrong !== undefined)
    throw refused(`${hostText(host)} is never reached from a sandbox (${classifyAddress(wrong)})`)
}

const tooWide = (star: string): AwError => refused(`${star} would allow whatever anybody has registered there`)

const notBelow = (text: string): AwError => (/^\*\.[a-z0-9-]+\.?$/i.test(text) ? tooWide(text) : notAHost(text))

function notAHost(text: string): AwError {
  const shown = JSON.stringify(text.slice(0, 300))
  if (text.includes('://'))
    return refused(`${shown} is a url`, 'Write only its host, as example.com or example.com:8443')
  if (/[^\0-\u007f]/.test(text)) return refused(`${shown} is not in ASCII`, 'Write the name as it is looked up: xn--…')
  const meant = /^[a-z]+$/i.test(text) ? nearest(text, presetNames) : undefined
  const hint = meant === undefined ? `Or a preset: ${presetNames.join(', ')}` : `Did you mean the preset ${meant}?`
  return refused(`${shown} is no host`, `Write example.com, example.com:8443, *.example.com or 127.0.0.1:8080. ${hint}`)
}

const refused = (why: string, hint = 'Write example.com, example.com:8443 or *.example.com'): AwError =>
  new AwError('invalid_input', `That cannot be allowed: ${why}`, { hint })
