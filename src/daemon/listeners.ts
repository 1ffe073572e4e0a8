import type { Server } from 'node:http'
import { owner } from '../access/principal.ts'
import type { TcpAddress } from '../domain/network/tcp-address.ts'
import type { HttpDoor } from '../http/door.ts'
import { httpServer, type ServerLimits } from '../http/server.ts'
import { pathExists } from '../sys/fs/directories.ts'
import {
  clearSocket,
  daemonSocketPath,
  restrictSocket,
  shortSocketPath,
  socketIdentity,
} from '../sys/home/daemon-files.ts'
import { tcpPeers } from '../sys/processes/tcp-peers.ts'
import { openBridge } from './bridge.ts'
import { closeServer, hostsOf, listenOn } from './listen.ts'

export interface Listeners {
  /** `http://127.0.0.1:PORT`, if somebody asked for it. */
  readonly url: string | undefined
  /** Puts the socket back that others find us by, if somebody has taken it away. Answers whether that was so. */
  reopen(): Promise<boolean>
  /** Takes no more, and waits for the last answer; what is not read by then is cut off. */
  close(patienceMs: number): Promise<void>
}

/** Where requests come in: the socket of the home, the bridge of its sandboxes, and a port if one was asked for. */
export async function openListeners(
  door: HttpDoor,
  home: string,
  place: TcpAddress | undefined,
  limits: ServerLimits,
): Promise<Listeners> {
  const servers: Server[] = []
  const close = async (patienceMs: number): Promise<void> => {
    const late = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), patienceMs)
    await Promise.all(servers.map(closeServer))
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
        if (socketIdentity(home) === mark || !pathExists(home)) return false
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
  await listenOn(server, shortSocketPath(daemonSocketPath(home)))
  servers.push(server)
  restrictSocket(home)
  return socketIdentity(home)
}

async function openPort(door: HttpDoor, place: TcpAddress, limits: ServerLimits, servers: Server[]): Promise<string> {
  const entrance = { hosts: [] as string[] }
  const server = httpServer(door, entrance, { ...limits, peers: tcpPeers })
  const port = await listenOn(server, place)
  servers.push(server)
  entrance.hosts.push(...hostsOf(port))
  return `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`
}
