import { createServer, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { Socket } from 'node:net'
import { refusalFor, sendRefusalOnSocket } from './refusal-responses.ts'
import { openProxyContext, type ProxyContext, type ProxyParts } from './context.ts'
import { handleRequest } from './plain-requests.ts'
import type { Reason } from './reasons.ts'
import { handleConnect } from './tunnels.ts'

export interface Proxy {
  /** Not listening yet. */
  readonly server: Server
  /** How many requests are under way. */
  underWay(): number
  /** Writes what is under way to the log. */
  stop(): void
}

/** A forward proxy for one box: plain requests and tunnels, to whom its rules name, each with a line in the log. */
export function createProxy(parts: ProxyParts): Proxy {
  const { limits } = parts
  const context = openProxyContext(parts)
  const server = createServer({
    insecureHTTPParser: false,
    // Asked for by us, so that it is in the log.
    requireHostHeader: false,
    maxHeaderSize: limits.header_bytes,
    headersTimeout: limits.headers_ms,
    // A body may take its time, as long as it moves.
    requestTimeout: 0,
    keepAliveTimeout: limits.keep_alive_ms,
    connectionsCheckingInterval: Math.min(1000, limits.headers_ms),
  })
  server.maxConnections = limits.connections
  // Node would leave out what is beyond, silently.
  server.maxHeadersCount = 0
  server.setTimeout(limits.idle_ms)
  server.on('request', (request, response) => void handleRequest(context, request, response))
  server.on('checkContinue', (request, response) => void handleRequest(context, request, response, 'continue'))
  server.on('checkExpectation', (request, response) => void handleRequest(context, request, response, 'unknown'))
  server.on('connect', (request, socket, head) => void handleConnect(context, request, asSocket(socket), head))
  server.on('clientError', (error, socket) => handleBroken(context, error, asSocket(socket)))
  return { server, underWay: () => context.exchanges.count(), stop: () => context.exchanges.stop() }
}

/** What came over a connection is no request, or not in time. Answers under way would be mixed up: it just ends. */
function handleBroken({ log, exchanges, connections, owner }: ProxyContext, error: Error, socket: Socket): void {
  // The parser may complain again while the answer is being sent.
  if (socket.writableEnded) return
  const reason = brokenBy(error)
  if (reason === undefined || socket.bytesRead === 0 || connections.count(socket) > 0) return void socket.destroy()
  const said = log.isFull() ? 'log_full' : reason
  exchanges.begin(undefined).end('refused', said)
  sendRefusalOnSocket(socket, refusalFor(said, undefined, owner))
}

/** Undefined: it went away. */
function brokenBy(error: Error): Reason | undefined {
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'headers_too_slow'
  return code.startsWith('HPE_') ? 'malformed' : undefined
}

function asSocket(stream: Duplex): Socket {
  if (!(stream instanceof Socket)) throw new TypeError('A connection is not a socket')
  return stream
}
