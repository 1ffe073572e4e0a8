import { lookup } from 'node:dns/promises'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'

/** What the proxy asks the machine. */
export interface HostNetwork {
  /** The addresses of a name, the best first. Rejects if there are none. */
  lookup(name: string): Promise<readonly string[]>
  /** The machine's own, on every interface. */
  ownAddresses(): readonly string[]
  /** To an address, never to a name. Undefined if it took too long; rejects if it cannot be. */
  connect(address: string, port: number, timeoutMs: number): Promise<Socket | undefined>
  /** To a socket of this machine, by its path. The same. */
  connectLocal(path: string, timeoutMs: number): Promise<Socket | undefined>
}

export const hostNetwork: HostNetwork = {
  async lookup(name) {
    const found = await lookup(name, { all: true, order: 'verbatim' })
    return found.map(({ address }) => address)
  },
  ownAddresses: () => Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
  // Each direction ends on its own.
  connect: (host, port, timeoutMs) => connected({ host, port, allowHalfOpen: true, noDelay: true }, timeoutMs),
  connectLocal: (path, timeoutMs) => connected({ path, allowHalfOpen: true }, timeoutMs),
}

const connected = (place: NetConnectOpts, timeoutMs: number): Promise<Socket | undefined> =>
  new Promise((resolve, reject) => {
    const socket = connect(place)
    const timer = setTimeout(() => (socket.destroy(), resolve(undefined)), timeoutMs)
    // Whoever takes it over listens too; until then an error must not end the process.
    socket.on('error', reject)
    socket.once('close', () => clearTimeout(timer))
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
