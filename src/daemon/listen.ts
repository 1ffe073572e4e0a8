import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AwError } from '../domain/errors.ts'
import type { TcpAddress } from '../domain/network/tcp-address.ts'

/** What Host may say to whoever listens there. */
export const hostsOf = (port: number): string[] =>
  ['127.0.0.1', 'localhost', '[::1]'].map((host) => (port === 80 ? [host, `${host}:80`] : [`${host}:${port}`])).flat()

/** Whoever comes to a socket when more than so many wait is turned away by the kernel, without a word. */
const maxWaiting = 4096

export function listenOn(server: Server, place: string | TcpAddress): Promise<number> {
  return new Promise((resolve, reject) => {
    // Later there are others, as when no more connections can be opened: each costs a caller its connection, and no more.
    server.on('error', (error: NodeJS.ErrnoException) => reject(refused(error, place)))
    const listened = (): void => {
      const address = server.address() as AddressInfo | string
      resolve(typeof address === 'string' ? 0 : address.port)
    }
    const at = typeof place === 'string' ? { path: place } : place
    server.listen({ ...at, backlog: maxWaiting }, listened)
  })
}

function refused(error: NodeJS.ErrnoException, place: string | TcpAddress): AwError {
  const where = typeof place === 'string' ? place : `${place.host}:${place.port}`
  const isTaken = error.code === 'EADDRINUSE'
  return new AwError(
    'invalid_config',
    `aw cannot listen at ${where}: ${isTaken ? 'somebody else does' : error.message}`,
    {
      hint: isTaken ? 'Choose another port with --listen' : 'Choose another place with --listen',
      cause: error,
    },
  )
}

/** Takes no more, and is closed when the last answer has gone out. */
export const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    // A connection that was busy is kept open for the next request, which nobody takes.
    const idle = setInterval(() => server.closeIdleConnections(), 20)
    server.close(() => {
      clearInterval(idle)
      resolve()
    })
  })
