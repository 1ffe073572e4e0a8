import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Looks at the connections of this moment; what it returns tells which user is at the other end of one, if it can. */
export type Peers = () => (socket: Socket) => number | undefined

export interface Connections {
  /** A request came in on this connection. An upgraded one has no response, and stays busy until it is closed. */
  begin(socket: Socket, response?: ServerResponse): void
  /** Its caller has shown a valid token, or needs none here. */
  known(socket: Socket): void
}

/** This part of the connections is kept free of callers that are idle, so that others can come and show their token. */
const keptFree = 1 / 16

/**
 * Holds a server to so many connections. When there are more, those are closed first on which nobody has shown a token:
 * the oldest of the user who has the most of them, so that no user can keep another one out. Callers lose a connection
 * only if it is idle and hardly anything is left for those who come.
 */
export function limitConnections(server: Server, most: number, peers: Peers = () => () => undefined): Connections {
  const strangers = new Set<Socket>()
  /** The one that was used last comes last. */
  const callers = new Set<Socket>()
  const busy = new WeakMap<Socket, number>()
  let due: NodeJS.Timeout | undefined
  let restedAt = 0
  const excess = (): number => strangers.size + callers.size - most
  const close = (socket: Socket): void => {
    strangers.delete(socket)
    callers.delete(socket)
    socket.destroy()
  }

  server.on('connection', (socket: Socket) => {
    strangers.add(socket)
    socket.once('close', () => close(socket))
    if (excess() > 0) due ??= setTimeout(trim, Math.max(0, restedAt - performance.now())).unref()
  })

  /** All that come at once are looked at together; and with a pause, so that a flood of them leaves time for others. */
  function trim(): void {
    due = undefined
    const begin = performance.now()
    const free = Math.ceil(most * keptFree)
    closeStrangers(Math.min(excess(), strangers.size - free))
    for (const socket of callers) if (excess() > 0 && !busy.get(socket)) close(socket)
    closeStrangers(excess())
    const end = performance.now()
    restedAt = end + 9 * (end - begin)
  }

  function closeStrangers(count: number): void {
    if (count <= 0) return
    const peerOf = peers()
    const groups = [...Map.groupBy(strangers, peerOf).values()]
    for (let left = count; left > 0; left--) {
      const largest = groups.reduce((one, other) => (other.length > one.length ? other : one), [])
      const oldest = largest.shift()
      if (oldest !== undefined) close(oldest)
    }
  }

  return {
    begin(socket, response) {
      busy.set(socket, (busy.get(socket) ?? 0) + 1)
      response?.once('close', () => busy.set(socket, (busy.get(socket) ?? 1) - 1))
    },
    known(socket) {
      strangers.delete(socket)
      callers.delete(socket)
      if (!socket.destroyed) callers.add(socket)
    },
  }
}
