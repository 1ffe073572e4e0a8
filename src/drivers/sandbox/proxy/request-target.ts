import type { IncomingMessage } from 'node:http'
import type { BrokerRoute } from '../../../domain/network/broker.ts'
import { parseAuthority } from '../../../domain/network/host.ts'
import type { Target } from '../../../domain/network/rules.ts'
import { valuesOf } from './headers.ts'
import type { Reason } from './reasons.ts'

export type RequestTarget =
  | {
      readonly target: Target
      readonly path: string
      /** The one that it goes through, if it does not go to the target by itself. */
      readonly broker?: BrokerRoute | undefined
      readonly problem?: undefined
    }
  | {
      readonly target?: Target | undefined
      readonly path?: undefined
      readonly broker?: undefined
      readonly problem: Reason
    }

/**
 * Whom a request to a proxy is for: `GET http://host/path`. The target of the request decides; a Host header that says
 * otherwise is one that somebody else might believe, so it is refused.
 */
export function targetOfRequest(request: IncomingMessage): RequestTarget {
  const { authority, path = '' } =
    /^http:\/\/(?<authority>[^/?#]*)(?<path>[/?][!-~]*)?$/i.exec(request.url ?? '')?.groups ?? {}
  if (authority === undefined) return { problem: isHttps(request) ? 'https_needs_connect' : 'no_proxy_request' }
  const parsed = parseAuthority(authority)
  if (parsed === undefined || path.includes('#')) return { problem: 'no_host' }
  const target = { host: parsed.host, port: parsed.port ?? 80 }
  if (!hostAgrees(request, target, 80)) return { target, problem: 'host_mismatch' }
  return { target, path: path.startsWith('/') ? path : `/${path}` }
}

/** `CONNECT host:port`. The port is not left out, and its Host header is about nothing else. */
export function targetOfConnect(request: IncomingMessage): RequestTarget {
  const parsed = parseAuthority(request.url ?? '')
  if (parsed?.port === undefined) return { problem: 'no_host' }
  const target = { host: parsed.host, port: parsed.port }
  if (!hostAgrees(request, target, target.port)) return { target, problem: 'host_mismatch' }
  return { target, path: '' }
}

const isHttps = ({ url = '' }: IncomingMessage): boolean => /^https:\/\//i.test(url)

/** One Host header; HTTP/1.0 had none. */
export function hostAgrees(request: IncomingMessage, { host, port }: Target, without: number): boolean {
  const said = valuesOf(request.rawHeaders, 'host')
  if (said.length === 0) return request.httpVersion === '1.0'
  const parsed = parseAuthority(said[0] ?? '')
  return said.length === 1 && parsed?.host.text === host.text && (parsed.port ?? without) === port
}
