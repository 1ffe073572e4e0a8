import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { hostText } from '../../../domain/network/host.ts'
import type { Target } from '../../../domain/network/rules.ts'
import { reasons, type Reason } from './reasons.ts'

/** What is said to a client whose request does not get through. Of what it sent, only a host that is one is repeated. */
export interface RefusalResponse {
  readonly status: number
  readonly reason: Reason
  readonly text: string
}

/** Who can allow more, and what is allowed so far: what there is to type. */
export interface AllowlistOwner {
  readonly workspace: string
  /** Rules and presets, as they were written. */
  readonly allow: readonly string[]
}

export function refusalFor(reason: Reason, target: Target | undefined, owner: AllowlistOwner): RefusalResponse {
  return { status: reasons[reason], reason, text: `aw: ${sentences(reason, target, owner)}\n` }
}

/** The connection is not used again: what else comes over it may be the rest of what was refused. */
export function sendRefusal(response: ServerResponse, { status, reason, text }: RefusalResponse): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  response.sendDate = false
  response.writeHead(status, headersOf(reason, text))
  response.end(text)
}

/** For a connection that has no response object: CONNECT, and what could not be parsed. */
export function sendRefusalOnSocket(socket: Duplex, { status, reason, text }: RefusalResponse): void {
  if (!socket.writable) return void socket.destroy()
  const head = Object.entries(headersOf(reason, text)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n${head.join('')}\r\n${text}`)
}

const headersOf = (reason: Reason, text: string): Record<string, string> => ({
  'Content-Type': 'text/plain; charset=utf-8',
  'Content-Length': String(Buffer.byteLength(text)),
  'X-Aw-Reason': reason,
  Connection: 'close',
})

function sentences(reason: Reason, target: Target | undefined, owner: AllowlistOwner): string {
  const host = target === undefined ? 'the host' : hostText(target.host)
  const site = target === undefined ? host : `${host}:${target.port}`
  const rule = target === undefined ? 'HOST' : ruleFor(target)
  const says: Record<Reason, string> = {
    not_listed: `${host} is not on the list of hosts that this sandbox may reach.\n${howTo(rule, owner)}`,
    port_not_listed: `${host} may be reached from this sandbox, but not at port ${target?.port}.\n${howTo(rule, owner)}`,
    address_not_public: `${host} leads to an address of this machine or its networks, and a name never may.\nThe owner of the workspace can allow that address itself, as ADDRESS:PORT.`,
    own_address: `${host} leads to this machine, and a name never may.\nThe owner of the workspace can allow an address of it, as 127.0.0.1:PORT.`,
    other_name: `the tunnel was asked for to ${host}, and TLS for somebody else.`,
    no_broker: 'this sandbox has no broker of that name.',
    not_this_host: 'a broker is asked for at 127.0.0.1, with the port of this proxy, once and in the Host header too.',
    path_outside: 'this path may lead out of what the broker is for.',
    method_refused: 'a broker does not pass this method on.',
    no_upgrade: 'a broker speaks HTTP/1.1 and nothing else: no websocket, no other version.',
    malformed: 'this is not a request that HTTP/1.1 allows.',
    no_proxy_request: 'this is a proxy. Ask it for a whole url, as http://host/path, or with CONNECT host:port.',
    https_needs_connect: 'https goes through a tunnel: CONNECT host:port.',
    no_host: 'the host is not written as one. It is host:port in plain letters, or an address in its plain form.',
    host_mismatch: `the Host header has to be there once, and to say what the request says: ${site}.`,
    framing: 'how long the body is was said more than once.',
    unknown_framing: 'the body can be sent with its length or in chunks, and in no other way.',
    unknown_expectation: 'this expectation cannot be met.',
    headers_too_large: 'the headers are too many or too large.',
    headers_too_slow: 'the headers did not come in time.',
    too_many: 'too many requests at once. Try again when some of them are answered.',
    log_full:
      'the log of requests of this workspace is full, and nothing passes that is not in it.\nIt is put aside within seconds: try again. If it stays full, its disk is: the owner of the workspace makes room there.',
    name_not_found: `${host} was not found.`,
    unreachable: `${site} could not be connected to.`,
    not_trusted: `nobody who is trusted here vouches for the certificate of ${site}.\nThe owner of the workspace can add an authority: to the system, or to NODE_EXTRA_CA_CERTS of aw.`,
    tls_failed: `${site} could not be spoken to over TLS.`,
    bad_answer: `${site} gave an answer that HTTP/1.1 does not allow.`,
    connect_timeout: `${site} did not answer in time.`,
    upstream_closed: `${site} closed the connection without an answer.`,
    no_daemon:
      'the daemon of aw does not run.\nThe owner of the workspace starts it, outside the sandbox: aw serve --detach',
  }
  return says[reason]
}

/** The ports that a host has without being named are left out. */
const ruleFor = ({ host, port }: Target): string =>
  host.address === undefined && (port === 443 || port === 80) && host.text !== 'localhost'
    ? host.text
    : `${hostText(host)}:${port}`

/** The walls of a sandbox never change: another one has other rules. */
function howTo(rule: string, { workspace, allow }: AllowlistOwner): string {
  const flags = [...allow, rule].map((one) => `--allow ${quoted(one)}`).join(' ')
  return `The owner of the workspace allows it, outside the sandbox, in a new one:
  aw stop ${workspace} && aw start ${workspace} ${flags}
or, for one command, when none is started: aw exec ${workspace} ${flags} -- COMMAND`
}

const quoted = (rule: string): string => (/^[\w.:-]+$/.test(rule) ? rule : `'${rule}'`)
