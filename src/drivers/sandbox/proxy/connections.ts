import type { Socket } from 'node:net'

/** Which requests of each connection are still under way: all of them end with it, also those not yet answered at all. */
export interface Connections {
  /** @returns what to call when the request is over */
  add(socket: Socket, onGone: () => void): () => void
  count(socket: Socket): number
}

export function openConnections(): Connections {
  const all = new WeakMap<Socket, Set<() => void>>()

  const of = (socket: Socket): Set<() => void> => {
    const known = all.get(socket)
    if (known !== undefined) return known
    const requests = new Set<() => void>()
    all.set(socket, requests)
    socket.once('close', () => requests.forEach((onGone) => onGone()))
    return requests
  }

  return {
    add(socket, onGone) {
      of(socket).add(onGone)
      return () => of(socket).delete(onGone)
    },
    count: (socket) => all.get(socket)?.size ?? 0,
  }
}
