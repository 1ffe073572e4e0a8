import type { IncomingMessage } from 'node:http'
import { staysBelow } from '../../../domain/network/broker-path.ts'
import { brokerPrefix, type BrokerRoute } from '../../../domain/network/broker.ts'
import { valuesOf } from './headers.ts'
import type { Reason } from './reasons.ts'
import { hostAgrees, type RequestTarget } from './request-target.ts'

/**
 * Whom a request is for that asks the proxy itself: `GET /.aw/name/path`, also as a whole url, as programs write it that
 * ask everything of a proxy. Undefined if it is not for a broker.
 */
export function brokerTarget(request: IncomingMessage, brokers: readonly BrokerRoute[]): RequestTarget | undefined {
  const [, site, own] = /^(?:http:\/\/([^/?#]*))?(\/.*)$/i.exec(request.url ?? '') ?? []
  if (brokers.length === 0 || own?.startsWith(brokerPrefix) !== true) return undefined
  const here = ownSites.map((text) => ({ host: { text }, port: request.socket.localPort ?? 0 }))
  if (site !== undefined && !here.some(({ host, port }) => site.toLowerCase() === `${host.text}:${port}`)) {
    return undefined
  }
  if (!here.some((target) => hostAgrees(request, target, 80))) return { problem: 'not_this_host' }
  const { name, rest = '', query = '' } = pathPattern.exec(own.slice(brokerPrefix.length))?.groups ?? {}
  const broker = brokers.find((one) => one.name === name)
  if (broker === undefined) return { problem: 'no_broker' }
  const { target, base, socket } = broker
  const problem = staysBelow(rest) && (socket === undefined || rest === '') ? problemOf(request) : 'path_outside'
  if (problem !== undefined) return { target, problem }
  return { target, path: `${base}${rest}` === '' ? `/${query}` : `${base}${rest}${query}`, broker }
}

const ownSites = ['127.0.0.1', 'localhost']

const pathPattern = /^(?<name>[^/?#]*)(?<rest>\/[!-"$->@-~]*)?(?<query>\?[!-"$-~]*)?$/

function problemOf({ method, rawHeaders }: IncomingMessage): Reason | undefined {
  // It would say back what it was asked with.
  if (method === 'TRACE') return 'method_refused'
  return valuesOf(rawHeaders, 'upgrade').length > 0 ? 'no_upgrade' : undefined
}
