import type { DaemonFacts } from '../../domain/daemon.ts'
import { toAwError } from '../../domain/errors.ts'
import { jsonOf, wire } from './wire.ts'

const headers = { host: 'localhost' }

/** What the daemon behind a socket tells of itself; undefined if none answers. */
export async function daemonAt(socket: string): Promise<DaemonFacts | undefined> {
  return (await askDaemon(socket, 'GET', '/api/daemon')) as DaemonFacts | undefined
}

/** False if there is none. That it has ended is seen by its lock. */
export const requestStop = async (socket: string): Promise<boolean> =>
  (await askDaemon(socket, 'POST', '/api/daemon/stop')) !== undefined

async function askDaemon(socket: string, method: string, path: string): Promise<unknown> {
  using line = wire({ socket })
  try {
    return await jsonOf(await line.send({ method, path, headers }))
  } catch (error) {
    if (toAwError(error).code === 'daemon_unavailable') return undefined
    throw error
  }
}
