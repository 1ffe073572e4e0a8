import type { Server } from 'node:http'
import { owner } from '../access/principal.ts'
import type { HttpDoor } from '../http/door.ts'
import { httpServer, type ServerLimits } from '../http/server.ts'
import { clearSocket, closeToOthers, reachable, socketOf } from '../sys/daemon-place.ts'
import { openBridge } from './bridge.ts'
import { closed, hostsOf, listening, type TcpPlace } from './listen.ts'

export interface Entrances {
  /** `http://127.0.0.1:PORT`, if somebody asked for it. */
  readonly url: string | undefined
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
    clearSocket(home)
    const local = httpServer(door, { hosts: ['localhost', 'aw'], local: owner(process.getuid?.() ?? 0) }, limits)
    servers.push(local)
    await listening(local, reachable(socketOf(home)))
    closeToOthers(home)
    const bridge = await openBridge(door, home, limits)
    servers.push(bridge.server)
    return {
      url,
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

async function openPort(door: HttpDoor, place: TcpPlace, limits: ServerLimits, servers: Server[]): Promise<string> {
  const entrance = { hosts: [] as string[] }
  const server = httpServer(door, entrance, limits)
  const port = await listening(server, place)
  servers.push(server)
  entrance.hosts.push(...hostsOf(port))
  return `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`
}
