import type { IncomingMessage } from 'node:http'
import { brokerPrefix, type BrokerRoute } from '../../../domain/network/broker.ts'
import { hostText } from '../../../domain/network/host.ts'
import { answerHeaders, pairsOf, requestHeaders, type Framing } from './headers.ts'

/**
 * What is sent to a broker's upstream: its headers, and nothing of the box's under their names, however they are written,
 * nor under another name of a credential: with one of its own a box could have somebody else's account keep what it sends.
 */
export function brokeredHeaders(
  request: IncomingMessage,
  { target, secure, headers }: BrokerRoute,
  framing: Framing,
): string[] {
  const ours = new Set([...credentials, ...headers.map(([name]) => sameName(name))])
  const kept = requestHeaders(request, target, framing, secure ? 443 : 80)
  return [...pairsOf(kept).filter(([name]) => !ours.has(sameName(name))), ...headers].flat()
}

/** Some servers make no difference between these two characters. */
const sameName = (name: string): string => name.toLowerCase().replaceAll('_', '-')

const credentials = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-auth-token']

/**
 * What the box gets of an answer: no header that says one of ours back, and a redirect within the broker leads there.
 * @param path what was asked for
 */
export function brokeredAnswer(answer: IncomingMessage, broker: BrokerRoute, path: string): string[] {
  const secrets = broker.headers.flatMap(([, value]) => [value, ...partsOf(value)])
  return pairsOf(answerHeaders(answer))
    .filter((pair) => !pair.some((text) => tells(text, secrets)))
    .flatMap(([name, value]) => [name, name.toLowerCase() === 'location' ? relocated(value, broker, path) : value])
}

/** The key of `Bearer key` is one without that word too. */
const partsOf = (value: string): string[] => value.split(/[ ,;="]+/).filter((part) => part.length >= minLength)

/** A short text may well be in another one; a long one is not there by chance. */
const tells = (text: string, secrets: readonly string[]): boolean =>
  [text, unescaped(text)].some((said) =>
    secrets.some((secret) => (secret.length < minLength ? secret === said : said.includes(secret))),
  )

const minLength = 8

const unescaped = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

function relocated(location: string, { name, secure, target, base }: BrokerRoute, path: string): string {
  const site = `${secure ? 'https' : 'http'}://${hostText(target.host)}:${target.port}`
  const next = URL.parse(location, `${site}${path}`)
  if (next === null || next.origin !== URL.parse(site)?.origin) return location
  const isBelow = next.pathname === base || next.pathname.startsWith(`${base}/`)
  return isBelow ? `${brokerPrefix}${name}${next.pathname.slice(base.length)}${next.search}${next.hash}` : location
}
