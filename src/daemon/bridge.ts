import type { Server } from 'node:http'
import { bridgeHost, bridgePath } from '../domain/network/bridge.ts'
import type { HttpDoor } from '../http/door.ts'
import { httpServer, type ServerLimits } from '../http/server.ts'
import { closeBridge, letProxiesIn, prepareBridge } from '../sys/home/bridge-directory.ts'
import { listenOn } from './listen.ts'

export interface OpenBridge {
  readonly server: Server
  /** When it takes no more requests. */
  remove(): void
}

/** Each sandbox has at most 32 of them. */
const connections = 2048

/** Where the proxies of sandboxes come in: MCP and nothing else, with a token and never without. */
export async function openBridge(door: HttpDoor, home: string, limits: ServerLimits): Promise<OpenBridge> {
  const socket = prepareBridge(home)
  const server = httpServer(door, { hosts: [bridgeHost], only: bridgePath }, { ...limits, connections })
  await listenOn(server, socket)
  letProxiesIn(socket)
  return { server, remove: () => closeBridge(socket) }
}
