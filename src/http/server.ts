import { createServer, STATUS_CODES, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { startDeadline } from './limits/request-deadline.ts'
import { limitConnections, type Peers } from './connections.ts'
import type { ListenerInfo } from './authenticate.ts'
import type { HttpDoor } from './door.ts'
import { endWithLinger } from './limits/linger.ts'

export interface ServerLimits {
  readonly connections: number
  /** How long the head of a request may take to come in, also that of the first; 0: for ever. */
  readonly headMs: number
  /** How long a connection may wait for its next request; 0: for ever. */
  readonly idleMs: number
  /** How long all of a request may take to come in; 0: for ever. */
  readonly requestMs: number
  /** How large its head may be. */
  readonly headerBytes: number
  /** Where users can be told apart. */
  readonly peers?: Peers | undefined
}

/** A server of Node with limits on all that a caller could make endless: head, time, connections. */
export function httpServer(door: HttpDoor, entrance: ListenerInfo, limits: ServerLimits): Server {
  const { connections, headMs, idleMs, requestMs, headerBytes, peers } = limits
  const headersTimeout = shortest(headMs, requestMs)
  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      headersTimeout,
      // An upload may take longer: see startDeadline.
      requestTimeout: 0,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(2_000, Math.max(100, headersTimeout)),
      // The door says what is wrong with it.
      requireHostHeader: false,
      highWaterMark: 64 * 1024,
    },
    (request, response) => {
      const { socket } = request
      const known = (): void => {
        response.shouldKeepAlive = keeps
        open.known(socket)
      }
      const keeps = response.shouldKeepAlive
      // Whoever shows no token where one is needed has nothing to come back for.
      response.shouldKeepAlive &&= entrance.local !== undefined
      open.begin(socket, response)
      startDeadline(request, response, requestMs)
      void door.handle(request, response, { ...entrance, known })
    },
  )
  const open = limitConnections(server, connections, peers)
  server.on('upgrade', (request, socket, head) => {
    open.begin(request.socket)
    void door.upgrade(request, socket, head, { ...entrance, known: () => open.known(request.socket) })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuse(error, socket))
  return server
}

/** Where 0 is for ever. */
function shortest(...times: readonly number[]): number {
  const limited = times.filter((time) => time > 0)
  return limited.length === 0 ? 0 : Math.min(...limited)
}

/** It could not even be read. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400
  const isLarge = status === 431
  const body = JSON.stringify({
    type: 'urn:aw:error:invalid_input',
    title: STATUS_CODES[status],
    status,
    code: 'invalid_input',
    detail: isLarge ? 'The address and headers of the request are too large' : 'The request could not be read',
    hint: isLarge ? 'Ask for less at once; how large they may be is a setting: server.header_kb' : null,
    data: {},
    retryable: false,
  })
  endWithLinger(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
