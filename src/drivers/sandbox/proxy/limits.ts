/** What one box may use of its proxy. A box that goes to these limits only slows itself. */
export interface ProxyLimits {
  /** Connections at once; those beyond wait to be taken or are closed. */
  readonly connections: number
  /** Requests at once, over all connections. */
  readonly requests: number
  /** Of them, those to the daemon. */
  readonly bridged: number
  /** Requests at once over one connection, sent without waiting for the answers. */
  readonly pipelined: number
  readonly header_bytes: number
  readonly header_lines: number
  /** From the first moment of a connection, or the end of the last request, until all headers are there. */
  readonly headers_ms: number
  readonly keep_alive_ms: number
  /** Nothing moved in either direction. Long enough for an answer that is thought about. */
  readonly idle_ms: number
  /** To look a name up, and again to connect. */
  readonly connect_ms: number
  readonly log_bytes: number
  /** How often it is looked whether the log has to be put aside. */
  readonly log_check_ms: number
}

export const defaultLimits: ProxyLimits = {
  connections: 256,
  requests: 256,
  bridged: 32,
  pipelined: 32,
  header_bytes: 32_768,
  header_lines: 200,
  headers_ms: 10_000,
  keep_alive_ms: 60_000,
  idle_ms: 900_000,
  connect_ms: 10_000,
  log_bytes: 64 * 1024 * 1024,
  log_check_ms: 2000,
}
