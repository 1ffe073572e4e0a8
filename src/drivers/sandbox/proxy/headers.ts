import type { IncomingMessage } from 'node:http'
import { hopByHopHeaders } from '../../../domain/network/broker.ts'
import { hostText } from '../../../domain/network/host.ts'
import type { Target } from '../../../domain/network/rules.ts'

/** Headers as Node keeps them raw: name, value, name, value … */
export type RawHeaders = readonly string[]

/** How long a body is; `wrong`: it is told twice, `unknown`: in a way that we cannot pass on. */
export type Framing =
  | { readonly kind: 'none' | 'chunked' | 'wrong' | 'unknown' }
  | { readonly kind: 'length'; readonly length: string }

/** The parser has refused most of what is wrong before; here nothing depends on that. */
export function framingOf({ rawHeaders }: IncomingMessage): Framing {
  const encodings = valuesOf(rawHeaders, 'transfer-encoding')
  const lengths = valuesOf(rawHeaders, 'content-length')
  if (encodings.length + lengths.length > 1) return { kind: 'wrong' }
  const [length] = lengths
  if (length !== undefined) return /^\d{1,15}$/.test(length) ? { kind: 'length', length } : { kind: 'wrong' }
  if (encodings[0] === undefined) return { kind: 'none' }
  return { kind: encodings[0].toLowerCase() === 'chunked' ? 'chunked' : 'unknown' }
}

/**
 * What is sent on: Host and the framing are ours, said once; the rest as it came, but for what is about this hop.
 * @param usualPort the one that is not said
 */
export function requestHeaders(
  request: IncomingMessage,
  { host, port }: Target,
  framing: Framing,
  usualPort = 80,
): string[] {
  const site = port === usualPort ? hostText(host) : `${hostText(host)}:${port}`
  return [
    'Host',
    site,
    ...without(request.rawHeaders, ours),
    'Connection',
    'close',
    ...framingHeaders(request, framing),
  ]
}

/** Of an answer, its length is kept as it is: there may be one without a body. */
export const answerHeaders = (answer: IncomingMessage): string[] => without(answer.rawHeaders, [])

export function valuesOf(headers: RawHeaders, name: string): string[] {
  return pairsOf(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? [value.trim()] : []))
}

function framingHeaders({ method = '' }: IncomingMessage, framing: Framing): string[] {
  if (framing.kind === 'length') return ['Content-Length', framing.length]
  if (framing.kind === 'chunked') return ['Transfer-Encoding', 'chunked']
  // Node would announce a body in chunks where a body is usual.
  return bodyIsUnusual.includes(method) ? [] : ['Content-Length', '0']
}

const bodyIsUnusual = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']

const ours = ['host', 'content-length', 'expect']

/** Also without what Connection names: it is about this hop then. */
function without(headers: RawHeaders, more: readonly string[]): string[] {
  const named = valuesOf(headers, 'connection').flatMap((value) => value.split(','))
  const dropped = new Set([...hopByHopHeaders, ...more, ...named.map((name) => name.trim().toLowerCase())])
  return pairsOf(headers).flatMap(([key, value]) => (dropped.has(key.toLowerCase()) ? [] : [key, value]))
}

export const pairsOf = (headers: RawHeaders): [string, string][] =>
  Array.from({ length: headers.length / 2 }, (_, at) => [headers[at * 2] ?? '', headers[at * 2 + 1] ?? ''])
