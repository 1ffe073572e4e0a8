import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A port of the loopback of this machine, on which somebody listens who says nothing. */
export interface LoopbackPort extends AsyncDisposable {
  readonly port: number
}

export async function listenOnLoopback(): Promise<LoopbackPort> {
  const server = createServer((socket) => socket.on('error', () => undefined).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
}
