/** A tunnel to a name carries TLS for that name, or none. */
import { once } from 'node:events'
import { createServer as createHttps } from 'node:https'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseRules } from '../../../src/domain/network/rules.ts'
import { trustStore } from '../../../src/drivers/sandbox/proxy/authorities.ts'
import { defaultLimits } from '../../../src/drivers/sandbox/proxy/limits.ts'
import type { LogEntry } from '../../../src/drivers/sandbox/proxy/log.ts'
import { createProxy } from '../../../src/drivers/sandbox/proxy/server.ts'
import { hostNetwork } from '../../../src/drivers/sandbox/proxy/host-network.ts'
import { ownAuthority, type OwnAuthority } from './own-authority.ts'
import { readAll, readUntil, upstream } from './fixture.ts'

let authority: OwnAuthority
beforeAll(() => void (authority = ownAuthority()))
afterAll(() => authority[Symbol.dispose]())

/** The proxy itself, on a machine where every name leads to one server here. */
async function proxyTo(server: Server, allow: readonly string[]) {
  const lines: LogEntry[] = []
  const site = await upstream(server)
  const proxy = createProxy({
    rules: parseRules(allow),
    brokers: [],
    trusted: trustStore([]),
    owner: { workspace: 'task/agent', allow },
    limits: defaultLimits,
    log: { isFull: () => false, toBePutAside: () => undefined, write: (entry) => void lines.push(entry) },
    surroundings: {
      lookup: async () => ['1.2.3.4'],
      ownAddresses: () => [],
      connect: (_address, _port, timeoutMs) => hostNetwork.connect('127.0.0.1', site.port, timeoutMs),
      connectLocal: (path, timeoutMs) => hostNetwork.connectLocal(path, timeoutMs),
    },
  })
  proxy.server.listen(0, '127.0.0.1')
  await once(proxy.server, 'listening')
  const { port } = proxy.server.address() as AddressInfo
  return {
    async tunnel(host: string, until = '\r\n\r\n') {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => undefined)
      socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`)
      await readUntil(socket, until)
      return socket
    },
    async ended(count: number): Promise<LogEntry[]> {
      const over = (): LogEntry[] => lines.filter(({ reason }) => reason !== 'open')
      await expect.poll(() => over().length, { timeout: 30_000 }).toBe(count)
      return over()
    },
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]()
      await new Promise((resolve) => proxy.server.close(resolve))
    },
  }
}

const secureServer = (): Server =>
  createHttps(authority.identity('DNS:name.example,DNS:other.example,DNS:localhost'), (_request, response) =>
    response.end('reached'),
  )

test.each([
  ['name.example', 'name.example'],
  ['name.example', 'NAME.example'],
  ['name.example', undefined],
  ['127.0.0.1', 'other.example'],
])('a tunnel to %s with TLS for %s passes', async (host, servername) => {
  await using proxy = await proxyTo(secureServer(), ['name.example', '127.0.0.1:443'])
  const socket = await proxy.tunnel(host)
  const tls = tlsConnect({ socket, ca: authority.cert, ...(servername === undefined ? {} : { servername }) })
  await once(tls, 'secureConnect')
  tls.write('GET / HTTP/1.1\r\nHost: name.example\r\nConnection: close\r\n\r\n')
  expect(await readAll(tls)).toContain('reached')
  const [line] = await proxy.ended(1)
  expect(line).toMatchObject({ host, verdict: 'allowed' })
  expect(line?.down).toBeGreaterThan(500)
})

test.each(['other.example', 'below.name.example', 'name.example.evil'])(
  'a tunnel to name.example with TLS for %s is ended, and the host hears nothing',
  async (servername) => {
    const heard: Buffer[] = []
    const server = createServer((socket) => void socket.on('data', (chunk) => heard.push(chunk)))
    await using proxy = await proxyTo(server, ['name.example'])
    const tls = tlsConnect({ socket: await proxy.tunnel('name.example'), servername })
    const [error] = (await once(tls, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ERR_SSL_TLSV1_UNRECOGNIZED_NAME')
    expect(await proxy.ended(1)).toMatchObject([
      { host: 'name.example', verdict: 'refused', reason: 'other_name', up: 0, down: 0 },
    ])
    expect(heard).toEqual([])
  },
)

test('what only begins as TLS is ended too', async () => {
  await using proxy = await proxyTo(secureServer(), ['name.example'])
  const socket = await proxy.tunnel('name.example')
  socket.write(Buffer.from([22, 3, 1, 0, 0]))
  expect(Buffer.from(await readAll(socket), 'latin1')).toEqual(Buffer.from([21, 3, 1, 0, 2, 2, 112]))
  expect(await proxy.ended(1)).toMatchObject([{ verdict: 'refused', reason: 'other_name' }])
})

test('no TLS passes, also where the host speaks first, and a beginning that nothing follows', async () => {
  const echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.write('hello ')
    socket.pipe(socket)
  })
  await using proxy = await proxyTo(echo, ['name.example'])
  for (const text of ['SSH-2.0-x', '\u0016', '\u0016\u0003\u0001']) {
    const socket = await proxy.tunnel('name.example', '\r\n\r\nhello ')
    socket.end(Buffer.from(text, 'latin1'))
    expect(await readAll(socket)).toBe(text)
  }
  expect((await proxy.ended(3)).map(({ verdict }) => verdict)).toEqual(['allowed', 'allowed', 'allowed'])
})
