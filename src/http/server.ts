import { createServer, STATUS_CODES, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { expectSoon } from './arrival.ts'
import type { Entrance } from './authenticate.ts'
import type { HttpDoor } from './door.ts'
import { endSoon } from './end-soon.ts'

export interface ServerLimits {
  readonly connections: number
  /** How long all of a request may take to come in. */
  readonly requestMs: number
  /** How large its head may be. */
  readonly headerBytes: number
}

/** A server of Node with limits on all that a caller could make endless: head, time, connections. */
export function httpServer(door: HttpDoor, entrance: Entrance, limits: ServerLimits): Server {
  const { connections, requestMs, headerBytes } = limits
  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      headersTimeout: Math.min(10_000, requestMs),
      // An upload may take longer: see expectSoon.
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 2_000,
      // The door says what is wrong with it.
      requireHostHeader: false,
      highWaterMark: 64 * 1024,
    },
    (request, response) => {
      expectSoon(request, response, requestMs)
      void door.handle(request, response, entrance)
    },
  )
  server.maxConnections = connections
  server.on('upgrade', (request, socket, head) => void door.upgrade(request, socket, head, entrance))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuse(error, socket))
  return server
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
  endSoon(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
