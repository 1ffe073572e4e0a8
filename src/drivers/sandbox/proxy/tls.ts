import type { Socket } from 'node:net'
import { connect, type SecureContext } from 'node:tls'
import type { Host } from '../../../domain/network/host.ts'
import type { Reason } from './reasons.ts'

export type TlsResult =
  | { readonly kind: 'connected'; readonly socket: Socket }
  | { readonly kind: 'failed'; readonly reason: Reason }

/** TLS over a connection, to whoever proves to be the host. Never rejects; what failed is closed. */
export function connectTls(socket: Socket, host: Host, trusted: SecureContext, timeoutMs: number): Promise<TlsResult> {
  return new Promise((resolve) => {
    const tls = connect({
      socket,
      host: host.text,
      // An address is no server name; the certificate has to hold for it all the same.
      ...(host.address === undefined ? { servername: host.text } : {}),
      secureContext: trusted,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
    })
    const fail = (reason: Reason): void => {
      clearTimeout(timer)
      tls.destroy()
      socket.destroy()
      resolve({ kind: 'failed', reason })
    }
    const timer = setTimeout(() => fail('connect_timeout'), timeoutMs)
    // Also for later: whoever takes it over listens too, and an error must not end the process.
    tls.on('error', () => fail(tls.authorizationError ? 'not_trusted' : 'tls_failed'))
    tls.once('close', () => fail('tls_failed'))
    tls.once('secureConnect', () => {
      clearTimeout(timer)
      resolve({ kind: 'connected', socket: tls })
    })
  })
}
