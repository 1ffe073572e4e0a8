/** The real program under load, and with clients and hosts that mean no good: it stays small, and it ends. */
import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { readAll, readUntil, reasonOf, startProxy, statusOf, upstream, type Place } from './fixture.ts'

/** However slow the machine is. */
const patiently = { timeout: 30_000, interval: 20 }

const connectTo = (port: number): string => `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`
const getFrom = (port: number, more = ''): string =>
  `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${more}\r\n`

async function tunnelTo(proxy: Place, port: number): Promise<Socket> {
  const socket = await proxy.open()
  socket.write(connectTo(port))
  await readUntil(socket, '\r\n\r\n')
  return socket
}

test('100 tunnels at once, none mixed up', async () => {
  await using server = await upstream(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)))
  await using proxy = await startProxy([`127.0.0.1:${server.port}`])
  const texts = Array.from({ length: 100 }, (_, at) => `${at}:`.repeat(5000))
  const answers = await Promise.all(
    texts.map(async (text) => {
      const socket = await tunnelTo(proxy, server.port)
      socket.end(text)
      return readAll(socket)
    }),
  )
  expect(answers.map((answer, at) => answer === texts[at])).toEqual(texts.map(() => true))
  const lines = await proxy.ended(100)
  expect(lines.map(({ up, down, verdict }) => [up, down, verdict])).toEqual(
    expect.arrayContaining(texts.map((text) => [text.length, text.length, 'allowed'])),
  )
  expect(new Set(lines.map(({ id }) => id)).size).toBe(100)
})

const total = 50 * 1024 * 1024

test.each([
  ['a tunnel', (port: number) => connectTo(port)],
  ['a plain request', (port: number) => getFrom(port, 'Connection: close\r\n')],
])(
  '50 MB through %s to a reader that stops: the host waits, the proxy stays small, nothing is lost',
  async (name, ask) => {
    let sent = 0
    const server = createHttp()
    const flood = (socket: Socket): void => {
      const chunk = Buffer.alloc(65_536, 'x')
      const more = (): void => {
        while (sent < total) {
          sent += chunk.length
          if (!socket.write(chunk)) return void socket.once('drain', more)
        }
        socket.end()
      }
      more()
    }
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`
    const raw = createServer((socket) => {
      if (name === 'a tunnel') return flood(socket)
      socket.once('data', () => {
        socket.write(head)
        flood(socket)
      })
    })
    server.close()
    await using host = await upstream(raw)
    await using proxy = await startProxy([`127.0.0.1:${host.port}`])
    expect(statusOf(await proxy.ask('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'))).toBe(400)
    const before = proxy.rssKb()
    const socket = await proxy.open()
    socket.write(ask(host.port))
    await once(socket, 'readable')
    // Until the host is held back, which is when its count stands still.
    let last = -1
    await expect.poll(() => sent === last || ((last = sent), false), { interval: 300, timeout: 20_000 }).toBe(true)
    expect(sent).toBeLessThan(total)
    expect(proxy.rssKb() - before).toBeLessThan(24 * 1024)
    let received = 0
    for await (const chunk of socket as AsyncIterable<Buffer>) received += chunk.length
    socket.destroy()
    expect(received).toBeGreaterThanOrEqual(total)
    expect(proxy.rssKb() - before).toBeLessThan(64 * 1024)
    const [, line] = await proxy.ended(2)
    expect(line).toMatchObject({ verdict: 'allowed', reason: null })
    expect(line?.down).toBeGreaterThanOrEqual(total)
  },
)

test('a body that nobody takes does not pile up', async () => {
  const held: Socket[] = []
  await using host = await upstream(createServer((socket) => held.push(socket.pause())))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`])
  await proxy.ask('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
  const before = proxy.rssKb()
  const socket = await proxy.open()
  socket.write(
    `POST http://127.0.0.1:${host.port}/ HTTP/1.1\r\nHost: 127.0.0.1:${host.port}\r\nContent-Length: ${total}\r\n\r\n`,
  )
  const chunk = Buffer.alloc(65_536, 'x')
  let taken = 0
  const more = (): void => {
    while (taken < total && socket.write(chunk)) taken += chunk.length
  }
  socket.on('drain', more)
  more()
  let last = -1
  await expect.poll(() => taken === last || ((last = taken), false), { interval: 300, timeout: 20_000 }).toBe(true)
  expect(taken).toBeLessThan(total)
  expect(proxy.rssKb() - before).toBeLessThan(24 * 1024)
  held.forEach((one) => one.destroy())
  expect((await proxy.ended(2))[1]).toMatchObject({ verdict: 'failed', reason: 'upstream_closed' })
  socket.destroy()
})

test('headers that are too large or too many are refused, and the next client is served', async () => {
  await using host = await upstream(createHttp((_request, response) => response.end('ok')))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`])
  const large = await proxy.ask(getFrom(host.port, `X: ${'x'.repeat(100_000)}\r\n`))
  expect([statusOf(large), reasonOf(large)]).toEqual([431, 'headers_too_large'])
  const many = await proxy.ask(getFrom(host.port, 'X: 1\r\n'.repeat(300)))
  expect([statusOf(many), reasonOf(many)]).toEqual([431, 'headers_too_large'])
  const flood = await proxy.open()
  const end = new Promise((resolve) => flood.once('close', resolve))
  flood.on('end', () => flood.destroy())
  flood.resume()
  flood.write(`GET http://127.0.0.1:${host.port}/ HTTP/1.1\r\n`)
  const more = (): void => {
    while (!flood.destroyed && flood.write('X: 1\r\n'.repeat(1000)));
  }
  flood.on('drain', more)
  more()
  await end
  expect(await proxy.ended(3)).toMatchObject([
    { verdict: 'refused', reason: 'headers_too_large' },
    { verdict: 'refused', reason: 'headers_too_large' },
    { verdict: 'refused', reason: 'headers_too_large' },
  ])
  expect(statusOf(await proxy.ask(getFrom(host.port, 'Connection: close\r\n')))).toBe(200)
})

test('who sends headers too slowly, or nothing, is let go', async () => {
  await using proxy = await startProxy([], { headers_ms: 400 })
  const [slow, silent] = [await proxy.open(), await proxy.open()]
  slow.write('GET http://a.example/ HTTP/1.1\r\n')
  const drip = setInterval(() => slow.write('X: 1\r\n'), 100)
  const [answer, nothing] = await Promise.all([readAll(slow), readAll(silent)])
  clearInterval(drip)
  expect([statusOf(answer), nothing]).toEqual([408, ''])
  expect(await proxy.ended(1)).toMatchObject([{ verdict: 'refused', reason: 'headers_too_slow' }])
})

test('what does not move any more is let go', async () => {
  await using host = await upstream(createServer(() => undefined))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`], { idle_ms: 300 })
  const socket = await tunnelTo(proxy, host.port)
  expect(await readAll(socket)).toBe('')
  expect(statusOf(await proxy.ask(getFrom(host.port)))).not.toBe(200)
  const [tunnel, plain] = await proxy.ended(2)
  expect(tunnel).toMatchObject({ method: 'CONNECT', verdict: 'allowed', reason: 'idle' })
  expect(plain).toMatchObject({ method: 'GET', address: '127.0.0.1' })
})

test('requests beyond the limit are told so, those under way go on', async () => {
  const held: (() => void)[] = []
  await using host = await upstream(createHttp((_request, response) => held.push(() => response.end('ok'))))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`], { requests: 4, pipelined: 2 })
  const socket = await proxy.open()
  socket.write(getFrom(host.port).repeat(5))
  await expect.poll(() => held.length, patiently).toBe(2)
  const others = [
    proxy.ask(getFrom(host.port, 'Connection: close\r\n')),
    proxy.ask(getFrom(host.port, 'Connection: close\r\n')),
  ]
  await expect.poll(() => held.length, patiently).toBe(4)
  const beyond = await proxy.ask(getFrom(host.port))
  expect([statusOf(beyond), reasonOf(beyond)]).toEqual([503, 'too_many'])
  held.forEach((answer) => answer())
  expect((await Promise.all(others)).map(statusOf)).toEqual([200, 200])
  const pipelined = await readAll(socket)
  expect([...pipelined.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '200', '503'])
})

test('connections beyond the limit are closed, and places are free again', async () => {
  await using proxy = await startProxy([], { connections: 4 })
  let closed = 0
  const open = await Promise.all(Array.from({ length: 6 }, () => proxy.open()))
  for (const socket of open) socket.resume().once('end', () => (closed += 1))
  await expect.poll(() => closed, patiently).toBe(2)
  const served = async (): Promise<number> => statusOf(await proxy.ask('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'))
  expect(await served()).toBeNaN()
  open.forEach((socket) => socket.destroy())
  await expect.poll(served, patiently).toBe(400)
})

test('a client that goes away while others wait behind it leaves nothing', async () => {
  await using host = await upstream(createHttp(() => undefined))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`])
  const socket = await proxy.open()
  socket.write(getFrom(host.port).repeat(5))
  await expect.poll(() => proxy.lines().length, patiently).toBe(5)
  socket.resetAndDestroy()
  const lines = await proxy.ended(5)
  expect(lines.map(({ reason }) => reason)).toEqual(Array.from({ length: 5 }, () => 'client_gone'))
})

test('a full log lets nothing pass until there is room, and grows no more', async () => {
  await using host = await upstream(createHttp((_request, response) => response.end('ok')))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`], { requests: 2, log_bytes: 8 * 1024 })
  const ask = (): Promise<string> => proxy.ask(getFrom(host.port, 'Connection: close\r\n'))
  let answer = ''
  while (statusOf((answer = await ask())) === 200);
  expect([statusOf(answer), reasonOf(answer)]).toEqual([503, 'log_full'])
  const size = proxy.logText().length
  for (let at = 0; at < 20; at++) expect(statusOf(await ask())).toBe(503)
  await proxy.ask('no request\r\n\r\n')
  expect(proxy.logText().length).toBe(size)
  expect(size).toBeLessThan(8 * 1024)
  const [last = ''] = proxy.logText().trimEnd().split('\n').slice(-1)
  expect(JSON.parse(last)).toMatchObject({ event: 'log_full' })
})

test('SIGTERM ends it, with a line for what was under way', async () => {
  await using host = await upstream(createServer(() => undefined))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`])
  const socket = await tunnelTo(proxy, host.port)
  socket.write('12345')
  proxy.child.kill('SIGTERM')
  expect(await once(proxy.child, 'exit')).toEqual([0, null])
  expect(proxy.lines()).toMatchObject([{ reason: 'open' }, { verdict: 'allowed', reason: 'stopped' }])
  socket.destroy()
})

test('killed without warning, what got through is known', async () => {
  await using host = await upstream(createServer(() => undefined))
  await using proxy = await startProxy([`127.0.0.1:${host.port}`])
  const socket = await tunnelTo(proxy, host.port)
  proxy.child.kill('SIGKILL')
  await once(proxy.child, 'exit')
  expect(proxy.lines()).toMatchObject([{ host: '127.0.0.1', port: host.port, verdict: 'allowed', reason: 'open' }])
  socket.destroy()
})
