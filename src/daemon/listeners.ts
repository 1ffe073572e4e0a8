import type { Server } from 'node:http'
import { owner } from '../access/principal.ts'
import type { TcpPlace } from '../domain/network/tcp-address.ts'
import type { HttpDoor } from '../http/door.ts'
import { httpServer, type ServerLimits } from '../http/server.ts'
import { isThere } from '../sys/fs/directories.ts'
import { clearSocket, closeToOthers, reachable, socketMark, socketOf } from '../sys/home/daemon-files.ts'
import { tcpPeers } from '../sys/processes/tcp-peers.ts'
import { openBridge } from './bridge.ts'
import { closed, hostsOf, listening } from './listen.ts'

export interface Entrances {
  /** `http://127.0.0.1:PORT`, if somebody asked for it. */
  readonly url: string | undefined
  /** Puts the socket back that others find us by, if somebody has taken it away. Answers whether that was so. */
  reopen(): Promise<boolean>
  /** Takes no more, and waits for the last answer; what is not read by then is cut off. */
  close(patienceMs: number): Promise<void>
}

/** Where requests come in: the socket of the home, the bridge of its sandboxes, and a port if one was asked for. */
export async function openEntrances(
  door: HttpDoor,
  home: string,
  place: TcpPlace | undefined,
  limits: ServerLimits,
): Promise<Entrances> {
  const servers: Server[] = []
  const close = async (patienceMs: number): Promise<void> => {
    const late = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), patienceMs)
    await Promise.all(servers.map(closed))
    clearTimeout(late)
  }
  try {
    // The port first: it is what may be somebody else's.
    const url = place === undefined ? undefined : await openPort(door, place, limits, servers)
    let mark = await openSocket(door, home, limits, servers)
    const bridge = await openBridge(door, home, limits)
    servers.push(bridge.server)
    return {
      url,
      async reopen() {
        // Without a home there is nothing to be found.
        if (socketMark(home) === mark || !isThere(home)) return false
        mark = await openSocket(door, home, limits, servers)
        return true
      },
      async close(patienceMs) {
        await close(patienceMs)
        bridge.remove()
      },
    }
  } catch (error) {
    await close(0)
    throw error
  }
}

/** What a read asks for is in its address, and here come the command lines of the user: what fits one of them has room. */
const ownHeadBytes = 8 * 2 ** 20

/** Answers its mark. */
async function openSocket(door: HttpDoor, home: string, limits: ServerLimits, servers: Server[]) {
  clearSocket(home)
  const entrance = { hosts: ['localhost', 'aw'], local: owner(process.getuid?.() ?? 0) }
  const server = httpServer(door, entrance, { ...limits, headerBytes: Math.max(limits.headerBytes, ownHeadBytes) })
  await listening(server, reachable(socketOf(home)))
  servers.push(server)
  closeToOthers(home)
  return socketMark(home)
}

async function openPort(door: HttpDoor, place: TcpPlace, limits: ServerLimits, servers: Server[]): Promise<string> {
  const entrance = { hosts: [] as string[] }
  const server = httpServer(door, entrance, { ...limits, peers: tcpPeers })
  const port = await listening(server, place)
  servers.push(server)
  entrance.hosts.push(...hostsOf(port))
  return `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`
}
