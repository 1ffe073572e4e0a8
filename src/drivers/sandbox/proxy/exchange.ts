import type { Socket } from 'node:net'
import type { Target } from '../../../domain/network/rules.ts'
import type { LogEntry, RequestLog } from './log.ts'

/** One request on its way, until its line is in the log. */
export interface Exchange {
  wants(target: Target): void
  /** Written down before a byte is sent; bytes are counted from now on. */
  reaches(address: string, upstream: Socket): void
  /** The first call counts. */
  end(verdict: LogEntry['verdict'], reason: LogEntry['reason']): void
}

export interface Exchanges {
  begin(method: string | undefined): Exchange
  count(): number
  /** The proxy ends: what is under way is written as it stands. */
  stop(): void
}

export function openExchanges(log: RequestLog): Exchanges {
  const open = new Set<Exchange>()

  // Several proxies may write to one log: each counts from somewhere else.
  let last = Math.floor(Math.random() * 2 ** 40)

  const begin = (method: string | undefined): Exchange => {
    const id = ++last
    const time = new Date().toISOString()
    const clock = performance.now()
    let target: Target | undefined
    let upstream: { readonly address: string; readonly socket: Socket } | undefined
    const write = (verdict: LogEntry['verdict'], reason: LogEntry['reason']): void =>
      log.write({
        id,
        time,
        method: method ?? null,
        host: target?.host.text ?? null,
        port: target?.port ?? null,
        address: upstream?.address ?? null,
        verdict,
        reason,
        up: upstream?.socket.bytesWritten ?? 0,
        down: upstream?.socket.bytesRead ?? 0,
        ms: Math.round(performance.now() - clock),
      })
    const exchange: Exchange = {
      wants: (wanted) => (target = wanted),
      reaches: (address, socket) => {
        upstream = { address, socket }
        write('allowed', 'open')
      },
      end: (verdict, reason) => open.delete(exchange) && write(verdict, reason),
    }
    open.add(exchange)
    return exchange
  }

  return {
    begin,
    count: () => open.size,
    stop: () => [...open].forEach((exchange) => exchange.end('allowed', 'stopped')),
  }
}
