import { parseAddress, type Address } from './address.ts'

/**
 * Whom somebody wants to reach, in the one spelling that is compared: a name in lower case without its final dot, or an
 * address. There is no third kind: whatever two readers might understand differently is no host.
 */
export interface Host {
  /** `example.com`, `10.0.0.1`, `2001:db8::1`. */
  readonly text: string
  /** If it is an address and not a name. */
  readonly address?: Address | undefined
}

export interface Authority {
  readonly host: Host
  /** If one was written. */
  readonly port?: number | undefined
}

/**
 * `host`, `host:port`, and for IPv6 `[address]` or `[address]:port`. Nothing is skipped: no user, no percent, no path.
 *
 * A name is two labels or more (or `localhost`) of letters, digits and inner hyphens, whose last one begins with a letter:
 * so no spelling of an IPv4 address (`0x7f.1`, `2130706433`, `0177.0.0.1`) is a name. Letters beyond ASCII have to be
 * written as what is looked up (`xn--…`).
 * @param single also a name of one label that begins with a letter, as `gateway`: only for what the owner writes
 */
export function parseAuthority(text: string, { single = false } = {}): Authority | undefined {
  if (text.length > longest) return undefined
  const { bracketed, plain, port } =
    /^(?:\[(?<bracketed>[0-9a-f:.]+)\]|(?<plain>[a-z0-9.-]+))(?::(?<port>\d+))?$/i.exec(text)?.groups ?? {}
  const host = bracketed === undefined ? parseHost(plain ?? '', single) : ipv6Host(bracketed)
  if (host === undefined) return undefined
  if (port === undefined) return { host }
  return isPort(port) ? { host, port: Number(port) } : undefined
}

/** As it is written in front of a port. */
export const hostText = (host: Host): string => (host.text.includes(':') ? `[${host.text}]` : host.text)

function parseHost(text: string, single = false): Host | undefined {
  const address = parseAddress(text)
  if (address !== undefined) return { text: address.text, address }
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  return isName(name, single) ? { text: name } : undefined
}

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535

/** `[::ffff:10.0.0.1]` is IPv4 once it is understood, but `[10.0.0.1]` is nothing. */
const ipv6Host = (text: string): Host | undefined => (text.includes(':') ? parseHost(text) : undefined)

function isName(name: string, single: boolean): boolean {
  if (name.length > 253) return false
  const labels = name.split('.')
  return (
    labels.every((label) => labelPattern.test(label)) &&
    (labels.length > 1 || single ? endsInLetters(labels) : name === 'localhost')
  )
}

const labelPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const endsInLetters = (labels: readonly string[]): boolean => /^[a-z]/.test(labels.at(-1) ?? '')

/** A name, its final dot, a colon and a port. */
const longest = 260
