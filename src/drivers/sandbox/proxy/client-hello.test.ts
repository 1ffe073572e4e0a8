import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { connect, type ConnectionOptions } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { readHello } from './client-hello.ts'

/** What a real client says first. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ...options })
  client.on('error', () => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [first] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return first
}

/** The same greeting in records of so many bytes. */
function cut(hello: Buffer, length: number): Buffer {
  const content = hello.subarray(5)
  const parts: Buffer[] = []
  for (let at = 0; at < content.length; at += length) {
    const part = content.subarray(at, at + length)
    parts.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(parts)
}

/** A greeting with these extensions and nothing else. */
function made(...extensions: readonly Buffer[]): Buffer {
  const all = Buffer.concat(extensions)
  const start = Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32), Buffer.from([0, 0, 2, 19, 1, 1, 0])])
  const body = Buffer.concat([start, sized(all, 2)])
  const handshake = Buffer.concat([Buffer.from([1]), sized(body, 3)])
  return Buffer.concat([Buffer.from([22, 3, 1]), sized(handshake, 2)])
}

function sized(content: Buffer, bytes: number): Buffer {
  const length = Buffer.alloc(bytes)
  length.writeUIntBE(content.length, 0, bytes)
  return Buffer.concat([length, content])
}

const extension = (type: number, content: Buffer): Buffer => Buffer.concat([Buffer.from([0, type]), sized(content, 2)])
const entry = (name: string, kind = 0): Buffer => Buffer.concat([Buffer.from([kind]), sized(Buffer.from(name), 2)])
const serverNames = (...entries: readonly Buffer[]): Buffer => extension(0, sized(Buffer.concat(entries), 2))

let hello: Buffer
beforeAll(async () => {
  hello = await helloOf({ servername: 'Name.Example' })
})

describe('a real greeting', () => {
  test.each([
    ['of TLS 1.3', {}],
    ['of TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['with more in it', { ALPNProtocols: ['h2', 'http/1.1'] }],
  ] as [string, ConnectionOptions][])('%s names whom it is for', async (_name, options) => {
    expect(readHello(await helloOf({ ...options, servername: 'name.example' }))).toEqual({
      kind: 'hello',
      names: ['name.example'],
    })
  })

  test('may name nobody', async () => {
    expect(readHello(await helloOf({}))).toEqual({ kind: 'hello', names: [] })
  })

  test('is waited for, byte by byte', () => {
    const kinds = new Set(Array.from({ length: hello.length }, (_, at) => readHello(hello.subarray(0, at)).kind))
    expect([...kinds]).toEqual(['more'])
    expect(readHello(hello)).toEqual({ kind: 'hello', names: ['name.example'] })
  })

  test.each([50, 100, 500])('is understood in records of %i bytes', (length) => {
    const bytes = cut(hello, length)
    const kinds = new Set(Array.from({ length: bytes.length }, (_, at) => readHello(bytes.subarray(0, at)).kind))
    expect([...kinds]).toEqual(['more'])
    expect(readHello(bytes)).toEqual({ kind: 'hello', names: ['name.example'] })
  })

  test('is understood with what follows it', () => {
    for (const more of [[23, 3, 3, 0, 1, 0], [0], [20, 3, 3, 0, 1, 1]]) {
      expect(readHello(Buffer.concat([hello, Buffer.from(more)]))).toEqual({ kind: 'hello', names: ['name.example'] })
    }
  })
})

test.each([
  ['plain text', Buffer.from('GET / HTTP/1.1\r\n')],
  ['ssh', Buffer.from('SSH-2.0-x\r\n')],
  ['what begins alike', Buffer.from([22, 1, 2, 3])],
])('%s is no TLS', (_name, bytes) => {
  expect(readHello(bytes)).toEqual({ kind: 'no_tls' })
})

test('several names are all told, and a final dot is none of them', () => {
  const twice = made(serverNames(entry('a.example.'), entry('b.example')), serverNames(entry('c.example')))
  expect(readHello(twice)).toEqual({ kind: 'hello', names: ['a.example', 'b.example', 'c.example'] })
})

test.each([
  ['a name of another kind', () => made(serverNames(entry('a.example', 1)))],
  ['a name that is cut off', () => made(extension(0, Buffer.from([0, 9, 0, 0, 20, 97])))],
  ['an extension that is cut off', () => made(Buffer.from([0, 0, 0, 9, 0]))],
  ['another message', () => Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
  ['an empty record', () => Buffer.from([22, 3, 1, 0, 0])],
  ['too large a record', () => Buffer.from([22, 3, 1, 0x7f, 0])],
  ['too large a greeting', () => Buffer.from([22, 3, 1, 0, 4, 1, 0, 0x40, 1])],
  [
    'another record in the middle',
    () => Buffer.concat([cut(hello, 20).subarray(0, 25), Buffer.from([23, 3, 3, 0, 1, 0])]),
  ],
  ['very many records', () => cut(hello, 2)],
  ['less than its length', () => made().fill(255, 44, 46)],
])('%s is broken', (_name, bytes) => {
  expect(readHello(bytes())).toEqual({ kind: 'broken' })
})
