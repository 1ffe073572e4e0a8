/** Why a request did not get through, and with which status its client is told. */
export const reasons = {
  // The list.
  not_listed: 403,
  port_not_listed: 403,
  address_not_public: 403,
  own_address: 403,
  other_name: 403,
  // The brokers.
  no_broker: 404,
  not_this_host: 421,
  path_outside: 400,
  method_refused: 405,
  no_upgrade: 501,
  // The request.
  malformed: 400,
  no_proxy_request: 400,
  https_needs_connect: 400,
  no_host: 400,
  host_mismatch: 400,
  framing: 400,
  unknown_framing: 501,
  unknown_expectation: 417,
  headers_too_large: 431,
  headers_too_slow: 408,
  // The proxy.
  too_many: 503,
  log_full: 503,
  // The way.
  name_not_found: 502,
  unreachable: 502,
  not_trusted: 502,
  tls_failed: 502,
  bad_answer: 502,
  connect_timeout: 504,
  upstream_closed: 502,
  no_daemon: 503,
} as const

export type Reason = keyof typeof reasons
