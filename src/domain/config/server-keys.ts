import type { Key } from './keys.ts'
import { defaultJsonLimits } from '../text/strict-json.ts'

/** Of the daemon: where it listens, and what it takes from whom. */
export const serverKeys = {
  'server.listen': {
    kind: 'listen',
    default: '',
    about:
      'Where aw serve listens besides its socket: 127.0.0.1:PORT, [::1]:PORT or localhost:PORT; other addresses are refused',
  },
  'server.max_connections': {
    kind: 'positive',
    default: 256,
    about: 'Connections at once, of all callers together; those without a token are closed first when there are more',
  },
  'server.max_in_flight': { kind: 'count', default: 16, about: 'Requests of one token at once; 0 means no limit' },
  'server.max_streams': { kind: 'count', default: 8, about: 'Streams of one token at once; 0 means no limit' },
  'server.body_kb': { kind: 'count', default: 1024, about: 'Largest body of a request in JSON' },
  'server.header_kb': { kind: 'positive', default: 16, about: 'Largest head of a request: its address and headers' },
  'server.json_depth': {
    kind: 'positive',
    default: defaultJsonLimits.depth,
    about: 'How deep the JSON of a request may be nested',
  },
  'server.json_keys': {
    kind: 'positive',
    default: defaultJsonLimits.keys,
    about: 'How many keys the JSON of a request may have, all of its objects together',
  },
  'server.json_values': {
    kind: 'positive',
    default: defaultJsonLimits.values,
    about: 'How many values the JSON of a request may hold',
  },
  'server.upload_mb': {
    kind: 'positive',
    default: 64,
    about: 'Largest content of a file that is sent with a token in one request, whole or piece by piece',
  },
  'server.memory_mb': {
    kind: 'positive',
    default: 256,
    about:
      'Bodies of requests with a token that are held in memory at once, of all callers together; uploads are not held',
  },
  'server.header_timeout_ms': {
    kind: 'milliseconds',
    default: 10_000,
    about: 'How long the head of a request may take to come in, also the first of a connection; 0 means no limit',
  },
  'server.idle_timeout_ms': {
    kind: 'milliseconds',
    default: 65_000,
    about: 'How long a connection may wait for its next request; 0 means no limit',
  },
  'server.request_timeout_ms': {
    kind: 'milliseconds',
    default: 30_000,
    about: 'How long a request may take to come in',
  },
  'server.slow_reader_ms': {
    kind: 'milliseconds',
    default: 10_000,
    about: 'How long a reader of events may leave what was sent to it unread before it is dropped',
  },
  'server.drain_ms': {
    kind: 'milliseconds',
    default: 10_000,
    about: 'How long requests that are being answered may go on when the daemon ends, before they are undone',
  },
  'server.gc_minutes': {
    kind: 'count',
    default: 60,
    about: 'How often the daemon does what aw gc does; 0 means never',
  },
  'mcp_bridge.enabled': {
    kind: 'switch',
    default: false,
    about:
      'Whether sandboxes that do not say reach the MCP tools of their own workspace; needs aw serve, the isolation namespace and the network none or allowlist',
  },
  'rate_limit.create_per_minute': {
    kind: 'count',
    default: 5,
    about: 'Workspaces that one token may make in a minute, runs included; 0 means no limit',
  },
  'rate_limit.exec_per_minute': {
    kind: 'count',
    default: 60,
    about: 'Commands that one token may run in a minute; 0 means no limit',
  },
  'rate_limit.default_per_minute': {
    kind: 'count',
    default: 120,
    about: 'All other requests of one token in a minute; 0 means no limit',
  },
} as const satisfies Record<string, Key>
