import { AwError } from '../errors.ts'
import { parseAuthority } from './host.ts'
import { proxyPort } from './proxy-port.ts'
import { fixedAddresses, isReachable, type Target } from './rules.ts'

/**
 * A service that a box uses with a credential which it never sees: it asks the proxy, and the proxy asks the service and
 * adds the headers.
 */
export interface Broker {
  /** What the box calls it: 1 to 32 of `a-z`, `0-9` and `-`. */
  readonly name: string
  /**
   * `https://api.example.com` or `http://127.0.0.1:8080/v1`: what requests are sent to, and the path that they stay below.
   * The owner has named it, so it may be on this machine or in its networks; never a link-local address.
   */
  readonly upstream: string
  /** Added by the proxy, in the place of whatever the box sent under these names. Their values are secret. */
  readonly headers: Readonly<Record<string, string>>
}

/** A broker, understood. */
export interface BrokerRoute {
  readonly name: string
  readonly secure: boolean
  readonly target: Target
  /** Empty, or as `/v1`. */
  readonly base: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** It is on this machine, at this socket: the target is only what it is called. Nothing but the base is asked for. */
  readonly socket?: string | undefined
}

/** What the paths of all brokers begin with. */
export const brokerPrefix = '/.aw/'

/** Where a box finds a broker of its own: what a program inside is told as its base url. */
export const brokerUrl = (name: string): string => `http://127.0.0.1:${proxyPort}${brokerPrefix}${name}`

/** Throws `invalid_input`, with nothing of what may be secret in it, unless all of them are brokers. */
export function parseBrokers(brokers: readonly Broker[]): readonly BrokerRoute[] {
  const routes = brokers.map(parseBroker)
  if (routes.length > maxBrokers) throw new AwError('invalid_input', `There are more than ${maxBrokers} brokers`)
  const twice = routes.find(({ name }, at) => routes.findIndex((other) => other.name === name) < at)
  if (twice !== undefined) throw new AwError('invalid_input', `There are two brokers called ${twice.name}`)
  return routes
}

function parseBroker({ name, upstream, headers }: Broker): BrokerRoute {
  if (typeof name !== 'string' || !/^[a-z0-9-]{1,32}$/.test(name)) {
    throw new AwError('invalid_input', 'The name of a broker is 1 to 32 of a-z, 0-9 and -')
  }
  return { name, ...parseUpstream(name, upstream), headers: parseHeaders(name, headers) }
}

/** The same strict spelling of a host as everywhere; whoever wrote a password into the url does not read it in an error. */
function parseUpstream(name: string, upstream: string): Pick<BrokerRoute, 'secure' | 'target' | 'base'> {
  const { scheme, authority, path = '' } = upstreamPattern.exec(upstream)?.groups ?? {}
  const parsed = authority === undefined ? undefined : parseAuthority(authority, { single: true })
  const base = path.endsWith('/') ? path.slice(0, -1) : path
  if (parsed === undefined || !isPlainPath(base)) {
    throw refused(name, 'upstream', 'its upstream is no plain url', upstreamHint)
  }
  const { host } = parsed
  if (fixedAddresses(host)?.every(isReachable) === false) {
    throw refused(name, 'upstream', `${host.text} is never reached for a sandbox`, upstreamHint)
  }
  const secure = scheme === 'https'
  return { secure, target: { host, port: parsed.port ?? (secure ? 443 : 80) }, base }
}

const upstreamPattern = /^(?<scheme>https?):\/\/(?<authority>[^/?#]+)(?<path>\/[A-Za-z0-9._~!$&'()*+,=:@/-]*)?$/

const upstreamHint =
  'Write https://HOST or http://HOST:PORT, and a path if need be: no user, no query, no fragment, nothing encoded'

const isPlainPath = (base: string): boolean =>
  base === '' ||
  base
    .slice(1)
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..')

function parseHeaders(name: string, headers: unknown): BrokerRoute['headers'] {
  const list = typeof headers === 'object' && headers !== null ? Object.entries(headers) : undefined
  if (list === undefined) throw refused(name, 'headers', 'it has no headers', headersHint)
  const names = list.map(([header]) => header.toLowerCase())
  const wrong =
    list.length > maxHeaders
      ? `it has more than ${maxHeaders} headers`
      : !names.every(isFreeName)
        ? 'the name of a header is none, or one that the proxy sets itself'
        : new Set(names).size < names.length
          ? 'a header is there twice'
          : !list.every(([, value]) => isValue(value))
            ? 'the value of a header is empty, too long, or not in plain characters'
            : undefined
  if (wrong !== undefined) throw refused(name, 'headers', wrong, headersHint)
  return list as [string, string][]
}

const headersHint = 'A header has a name of letters, digits and -, and one line of ASCII as its value'

const isFreeName = (name: string): boolean => /^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/.test(name) && !proxyHeaders.has(name)

const isValue = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= longestValue && /^[!-~](?:[ -~]*[!-~])?$/.test(value)

/** Headers that are between two neighbours, and not for whom the request is meant. */
export const hopByHopHeaders: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

const proxyHeaders = new Set([...hopByHopHeaders, 'content-length', 'expect', 'host'])

const maxBrokers = 32
const maxHeaders = 16
const longestValue = 8192

const refused = (broker: string, field: string, why: string, hint: string): AwError =>
  new AwError('invalid_input', `The broker ${broker} cannot be: ${why}`, { hint, data: { broker, field } })
