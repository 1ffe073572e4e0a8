import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Host } from '../../../domain/network/host.ts'
import { refusalFor, sendRefusalOnSocket } from './refusal-responses.ts'
import type { ProxyContext } from './context.ts'
import type { Exchange } from './exchange.ts'
import { connectAllowed } from './connect.ts'
import type { Reason } from './reasons.ts'
import { targetOfConnect } from './request-target.ts'
import { forwardIfNameMatches } from './server-name.ts'

/** `CONNECT host:port`: judged, connected, and from then on bytes. */
export async function handleConnect(
  context: ProxyContext,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  const { rules, limits, surroundings, owner, exchanges, connections } = context
  const exchange = exchanges.begin(request.method)
  const wanted = targetOfConnect(request)
  if (wanted.target !== undefined) exchange.wants(wanted.target)
  const say = (reason: Reason): void => sendRefusalOnSocket(client, refusalFor(reason, wanted.target, owner))
  // Whoever pipes it listens too; until then an error must not end the process.
  client.on('error', () => undefined)
  client.setTimeout(limits.idle_ms, () => client.destroy())

  // Answers that are still to come would mix with the tunnel's bytes.
  const mixed = connections.count(client) > 0 ? 'malformed' : undefined
  const problem = context.obstacle(request) ?? wanted.problem ?? mixed
  if (problem !== undefined || wanted.path === undefined) {
    exchange.end('refused', problem ?? 'malformed')
    return say(problem ?? 'malformed')
  }

  const reached = await connectAllowed(wanted.target, rules, surroundings, limits.connect_ms)
  if (reached.kind !== 'connected') {
    exchange.end(reached.kind, reached.reason)
    return say(reached.reason)
  }
  exchange.reaches(reached.address, reached.socket)
  if (client.destroyed) {
    reached.socket.destroy()
    return exchange.end('allowed', 'client_gone')
  }
  client.write('HTTP/1.1 200 Connection established\r\n\r\n')
  tunnel(client, reached.socket, { head, host: wanted.target.host, exchange, idleMs: limits.idle_ms })
}

interface Tunnel {
  /** What came with the request. */
  readonly head: Buffer
  readonly host: Host
  readonly exchange: Exchange
  readonly idleMs: number
}

/**
 * Two connections made one. Each side is read only as fast as the other takes it, ends when the other has ended, and is
 * reset when the other was.
 */
function tunnel(client: Socket, upstream: Socket, { head, host, exchange, idleMs }: Tunnel): void {
  let why: keyof typeof verdicts | undefined
  const timeUp = (): void => {
    why ??= 'idle'
    client.destroy()
    upstream.destroy()
  }
  upstream.on('error', () => {
    why ??= 'upstream_closed'
    client.resetAndDestroy()
  })
  client.on('error', () => {
    why ??= 'client_gone'
    upstream.resetAndDestroy()
  })
  const end = (): void => {
    if (client.closed && upstream.closed) exchange.end(why === undefined ? 'allowed' : verdicts[why], why ?? null)
  }
  for (const side of [client, upstream]) {
    side.setTimeout(idleMs, timeUp)
    side.on('close', end)
  }
  // What is still on its way to the other side is written first.
  client.on('close', () => upstream.destroySoon())
  upstream.on('close', () => client.destroySoon())
  upstream.pipe(client)
  forwardIfNameMatches(client, upstream, head, host, () => {
    why ??= 'other_name'
    upstream.destroy()
  })
}

const verdicts = {
  upstream_closed: 'failed',
  client_gone: 'allowed',
  idle: 'allowed',
  other_name: 'refused',
} as const
