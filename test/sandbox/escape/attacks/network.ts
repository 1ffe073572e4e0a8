/** What can be reached by sockets: services of the host, and all else that a network has. */
import { createServer, connect } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { SandboxSpec } from '../../../../src/ports/sandbox-driver.ts'
import type { Attack, Expected, Stage } from '../attack.ts'
import { datagrams, helper, listener, type Listener } from '../canaries.ts'
import { existsSync, readFileSync } from 'node:fs'

type Levels = Readonly<Record<'none' | 'guarded' | 'namespace', Expected>>

const held = { none: 'not held', guarded: 'held', namespace: 'held' } as const
const host = { network: { mode: 'host' } } as const
const listed = (...allow: string[]): Partial<SandboxSpec> => ({
  network: { mode: 'allowlist', allow },
})

/** Somebody listens; the attack gets through if that one hears it. */
const reaching = (
  name: string,
  does: string,
  listen: (stage: Stage) => Promise<{ argv: readonly string[]; heard: Listener['heard'] }>,
  more: { expected?: Levels; online?: boolean; note?: string } = {},
): Attack => ({
  name,
  kind: 'network',
  does,
  note: more.note,
  expected: more.expected ?? held,
  ...(more.online === true ? { spec: () => host } : {}),
  async attempt(stage) {
    const { argv, heard } = await listen(stage)
    await stage.run([stage.tool, ...argv, stage.marker])
    return stage.harmed(50, () => heard(stage.marker))
  },
})

const tcp =
  (address: string, port = 0) =>
  async (stage: Stage) => {
    const { heard, port: bound } = await listener(stage, { host: address, port })
    return { heard, argv: ['tcp', '%marker', address, String(bound)] }
  }
const udp = async (stage: Stage) => {
  const { heard, port } = await datagrams(stage)
  return { heard, argv: ['udp', '%marker', '127.0.0.1', String(port)] }
}
const unix = async (stage: Stage) => {
  const path = join(stage.outside, 's')
  const { heard } = await listener(stage, { path })
  return { heard, argv: ['unix', '%marker', path] }
}
const abstract = async (stage: Stage) => {
  const name = `aw-canary-${stage.marker}`
  const { heard } = await listener(stage, { path: `\0${name}` })
  return { heard, argv: ['abstract', '%marker', name] }
}
/** As a system log listens. */
const datagramPath = async (stage: Stage) => {
  const [path, said] = [join(stage.outside, 'log'), join(stage.outside, 'said')]
  await helper(stage, logListener, path, said)
  const heard = (marker: string): boolean => existsSync(said) && readFileSync(said, 'latin1').includes(marker)
  return { heard, argv: ['unix-pair', '%marker', path] }
}

const logListener = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(15)
print('listening', flush=True)
with open(sys.argv[2], 'ab') as said: said.write(s.recv(4096))
`

export const networkAttacks: readonly Attack[] = [
  reaching('loopback', 'connects to a service on the loopback of the host', tcp('127.0.0.1')),
  reaching('loopback-6', 'the same over IPv6', tcp('::1')),
  reaching(
    'metadata',
    'asks the metadata address of clouds (169.254.169.254) for credentials',
    tcp('169.254.169.254', 80),
  ),
  reaching('dns', 'sends a datagram to a resolver on the host, with what it wants to tell in the name', udp),
  reaching('unix-socket', 'connects to a socket of a service, as that of Docker', unix),
  reaching('unix-datagram', 'sends a datagram to one, by an end of a pair that needs no socket()', datagramPath),
  reaching('abstract-socket', 'connects to an abstract socket of the host', abstract),
  reaching('host-loopback', 'with the network of the host: connects to a service on its loopback', tcp('127.0.0.1'), {
    online: true,
    expected: { none: 'not held', guarded: 'not held', namespace: 'not held' },
    note: 'that is what was asked for',
  }),
  reaching('host-unix-socket', 'with the network of the host: connects to a socket of a service', unix, {
    online: true,
  }),
  reaching('host-unix-datagram', 'with the network of the host: sends a datagram to one', datagramPath, {
    online: true,
  }),
  reaching('host-abstract', 'with the network of the host: connects to an abstract socket', abstract, {
    online: true,
    note: 'with the network of the host only pairs of connected unix sockets can be made',
  }),
  {
    name: 'proxy',
    kind: 'network',
    does: 'asks the proxy of an allow-list for a service of the host, in every spelling and with every trick',
    note: 'none and guarded refuse to start: they cannot keep a network to a list',
    spec: () => listed('example.com', 'localhost:9'),
    expected: { none: 'refused', guarded: 'refused', namespace: 'held' },
    async attempt(stage) {
      let connections = 0
      const service = createServer((socket) => {
        connections++
        socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      })
      service.listen(0, '127.0.0.1')
      await once(service, 'listening')
      stage.defer(() => service.close())
      const { port } = service.address() as AddressInfo
      const way = stage.box === undefined ? await carelessProxy(stage) : 3128
      await stage.run(['/usr/bin/python3', '-c', tricks, '%marker', String(way), String(port)])
      return connections > 0
    },
  },
  {
    name: 'around-proxy',
    kind: 'network',
    does: 'with an allow-list: connects to a service of the host without asking the proxy',
    spec: () => listed('example.com'),
    expected: { none: 'refused', guarded: 'refused', namespace: 'held' },
    async attempt(stage) {
      const { argv, heard } = await tcp('127.0.0.1')(stage)
      await stage.run([stage.tool, ...argv, stage.marker])
      return heard(stage.marker)
    },
  },
]

/** Connects wherever it is told to, so that the tricks are seen to work on one that does not look. */
async function carelessProxy(stage: Stage): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (head) => {
      const target = /^(?:CONNECT |\w+ http:\/\/)127\.0\.0\.1:(\d+)/.exec(head.toString('latin1'))?.[1]
      if (target === undefined) return socket.destroy()
      const on = connect(Number(target), '127.0.0.1', () => socket.end())
      on.on('error', () => socket.destroy()).on('data', () => on.end())
      return undefined
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stage.defer(() => server.close())
  return (server.address() as AddressInfo).port
}

const tricks = String.raw`
import socket, sys
way, port = int(sys.argv[2]), sys.argv[3]
hosts = ['127.0.0.1', 'localhost', 'localhost.', 'LOCALHOST', '127.1', '127.0.1', '0', '0.0.0.0', '2130706433',
  '0x7f000001', '0x7f.0.0.1', '0177.0.0.1', '017700000001', '127.0.0.01', '[::1]', '[::]', '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1%lo]',
  '①②⑦.⓪.⓪.①', '127。0。0。1', 'example.com@127.0.0.1', '127.0.0.1#example.com', '127.0.0.1/example.com',
  'example.com\t127.0.0.1', 'example.com%00127.0.0.1', '127.0.0.1.', ' 127.0.0.1', 'ip6-localhost', 'aw']
def ask(data):
  try:
    s = socket.create_connection(('127.0.0.1', way), 2)
    s.settimeout(2)
    s.sendall(data)
    s.recv(4096)
    s.close()
  except OSError: pass
for host in hosts:
  at = f'{host}:{port}'.encode()
  ask(b'CONNECT ' + at + b' HTTP/1.1\r\nhost: example.com:443\r\n\r\n')
  ask(b'GET http://' + at + b'/ HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n')
at = f'127.0.0.1:{port}'.encode()
ask(b'GET / HTTP/1.1\r\nhost: ' + at + b'\r\n\r\n')
ask(b'GET http://example.com/ HTTP/1.1\r\nhost: ' + at + b'\r\n\r\n')
ask(b'GET http://example.com/ HTTP/1.1\r\nhost: example.com\r\nhost: ' + at + b'\r\n\r\n')
ask(b'CONNECT localhost:9 HTTP/1.1\r\n\r\nCONNECT ' + at + b' HTTP/1.1\r\n\r\n')
ask(b'GET http://example.com/ HTTP/1.1\r\nhost: example.com\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET http://' + at + b'/ HTTP/1.1\r\n\r\n')
ask(b'GET http://example.com@' + at + b'/ HTTP/1.1\r\nhost: example.com\r\n\r\n')
ask(b'GET http://' + at + b' http://example.com/ HTTP/1.1\r\nhost: example.com\r\n\r\n')
ask(b'GET ftp://' + at + b'/ HTTP/1.1\r\nhost: example.com\r\n\r\n')
ask(b'CONNECT localhost:9,' + port.encode() + b' HTTP/1.1\r\n\r\n')
ask(b'CONNECT localhost:' + str(65536 + int(port)).encode() + b' HTTP/1.1\r\n\r\n')
ask(b'CONNECT localhost:00' + port.encode() + b' HTTP/1.1\r\n\r\n')
ask(b'\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01' + int(port).to_bytes(2, 'big'))
ask(b'\x04\x01' + int(port).to_bytes(2, 'big') + b'\x7f\x00\x00\x01\x00')
ask(b'PROXY TCP4 127.0.0.1 127.0.0.1 1 ' + port.encode() + b'\r\nCONNECT localhost:9 HTTP/1.1\r\n\r\n')
`
