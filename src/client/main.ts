import { AwError } from '../domain/errors.ts'
import { makeAw, type Aw } from './facade.ts'
import { remoteManager } from './remote/remote.ts'

/**
 * Agent workspaces through a daemon: the same library, wherever the work is done.
 *
 * ```ts
 * import { connectAw } from 'agent-workspaces/client'
 *
 * await using aw = connectAw({ url: 'http://127.0.0.1:7433', token: process.env.AW_TOKEN })
 * const workspace = await aw.create({ id: 'fix-login/claude' })
 * ```
 */
export const connectAw = (options: ConnectOptions): Aw =>
  makeAw(remoteManager({ ...checked(options), sockets: () => import('./remote/socket.ts') }))

export interface ConnectOptions {
  /** The socket of the daemon: aw.sock in its home. */
  readonly socket?: string | undefined
  /** Or where it listens: http://127.0.0.1:PORT. */
  readonly url?: string | undefined
  /** What `aw token create` showed; a socket needs none. */
  readonly token?: string | undefined
}

function checked({ socket, url, token }: ConnectOptions): Parameters<typeof remoteManager>[0] {
  if (socket !== undefined && url === undefined) return { address: { socket }, token }
  const at = url === undefined ? undefined : URL.parse(url)
  if (socket !== undefined || at?.protocol !== 'http:' || at.pathname !== '/')
    throw new AwError('invalid_input', 'A daemon is named by socket, or by url like http://127.0.0.1:7433', {
      hint: 'aw serve --status tells where it listens',
    })
  const host = at.hostname.replace(/^\[|\]$/g, '')
  return { address: { host, port: at.port === '' ? 80 : Number(at.port) }, token }
}

export { AwError, errorTable, type ErrorCode } from '../domain/errors.ts'
export type { Aw } from './facade.ts'
export type { CallContext, Manager, Progress } from '../ports/manager.ts'
