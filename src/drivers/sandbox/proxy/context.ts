import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SecureContext } from 'node:tls'
import type { BrokerRoute } from '../../../domain/network/broker.ts'
import type { Rule } from '../../../domain/network/rules.ts'
import type { AllowlistOwner } from './refusal-responses.ts'
import { openConnections, type Connections } from './connections.ts'
import { openExchanges, type Exchanges } from './exchange.ts'
import type { ProxyLimits } from './limits.ts'
import type { RequestLog } from './log.ts'
import type { Reason } from './reasons.ts'
import type { HostNetwork } from './host-network.ts'

export interface ProxyParts {
  readonly rules: readonly Rule[]
  readonly brokers: readonly BrokerRoute[]
  /** Whom the upstreams of brokers are vouched for by. */
  readonly trusted: () => SecureContext
  readonly owner: AllowlistOwner
  readonly limits: ProxyLimits
  readonly log: RequestLog
  readonly surroundings: HostNetwork
}

/** What every request is handled with. */
export interface ProxyContext extends ProxyParts {
  readonly exchanges: Exchanges
  readonly connections: Connections
  /** Answers of the daemon that are under way. */
  readonly bridged: Set<ServerResponse>
  /** What is in the way of a request, whoever it is for. */
  obstacle(request: IncomingMessage): Reason | undefined
}

export function openProxyContext(parts: ProxyParts): ProxyContext {
  const { limits, log } = parts
  const exchanges = openExchanges(log)
  const connections = openConnections()

  const obstacle = (request: IncomingMessage): Reason | undefined => {
    if (log.isFull()) return 'log_full'
    if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') return 'malformed'
    if (request.rawHeaders.length / 2 > limits.header_lines) return 'headers_too_large'
    if (exchanges.count() > limits.requests) return 'too_many'
    return connections.count(request.socket) >= limits.pipelined ? 'too_many' : undefined
  }

  return { ...parts, exchanges, connections, bridged: new Set(), obstacle }
}
