import type { Socket } from 'node:net'
import type { Host } from '../../../domain/network/host.ts'
import { fixedAddresses } from '../../../domain/network/rules.ts'
import { readHello } from './client-hello.ts'

/**
 * Passes what a client says on, but for a greeting of TLS to somebody else than it has asked us for: behind one address
 * there may be many hosts. A client that names nobody, or speaks no TLS, passes; so does any name where the owner has
 * allowed an address and not a name.
 * @param head what came with the request
 */
export function forwardIfNameMatches(
  client: Socket,
  upstream: Socket,
  head: Buffer,
  host: Host,
  refuse: () => void,
): void {
  let held = head
  const pass = (): void => {
    stop()
    if (held.length > 0) upstream.write(held)
    client.pipe(upstream)
  }
  const judge = (): void => {
    const hello = readHello(held)
    if (hello.kind === 'more') return
    const isOther =
      hello.kind === 'broken' || (hello.kind === 'hello' && hello.names.some((name) => name !== host.text))
    if (!isOther) return pass()
    stop()
    client.end(unrecognizedName)
    refuse()
  }
  const take = (chunk: Buffer): void => {
    held = Buffer.concat([held, chunk])
    judge()
  }
  const stop = (): void => void client.off('data', take).off('end', pass)
  if (fixedAddresses(host) !== undefined) return pass()
  client.on('data', take).on('end', pass)
  judge()
}

/** A fatal alert of TLS, so that a client says what is wrong. */
const unrecognizedName = Buffer.from([21, 3, 1, 0, 2, 2, 112])
