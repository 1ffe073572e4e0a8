/** Boxes with brokers, as their driver starts them: the key is used, and is nowhere to be found. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { brokerUrl, type Broker } from '../../../src/domain/network/broker.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import type { Network } from '../../../src/domain/sandbox/spec.ts'
import type { Sandbox, SandboxSpec } from '../../../src/ports/sandbox-driver.ts'
import { code, ran, startPlanned } from '../../contracts/sandbox.ts'
import { openedPlaces, sh } from '../fixtures-per-test.ts'
import { upstream } from './fixture.ts'

const opened = openedPlaces()
const secret = `sk-${randomBytes(16).toString('hex')}`
const offline: Network = { mode: 'allowlist', allow: [] }

/** Tells whether it was given the key, and says it back where it can. */
const service = (request: IncomingMessage, response: ServerResponse): void => {
  const key = String(request.headers['x-api-key'])
  response.setHeader('X-Echo', key)
  response.end(`${key === secret ? 'with the key' : 'without'} ${request.url}`)
}

const brokerTo = (upstreamUrl: string): Broker => ({
  name: 'model',
  upstream: upstreamUrl,
  headers: { 'x-api-key': secret },
})

const curl = async (box: Sandbox, ...args: readonly string[]): Promise<string> =>
  (await ran(box, ['curl', '-sS', '-m', '20', '-w', ' %{http_code}', ...args])).stdout

test('a command asks with a key that it does not have, and reaches nothing else', async () => {
  await using site = await upstream(createHttp(service))
  const at = `http://127.0.0.1:${site.port}`
  const { driver, spec, base } = opened('namespace')
  const networkLog = join(base, 'requests')
  const box = await startPlanned(driver, 'box_1', {
    ...spec,
    network: offline,
    networkLog,
    brokers: [brokerTo(`${at}/v1`)],
  })
  expect(await curl(box, '-i', '-H', 'X-Api-Key: mine', `${brokerUrl('model')}/messages`)).toMatch(
    /^HTTP\/1\.1 200 OK\r\n(?!.*X-Echo)[^]*with the key \/v1\/messages 200$/i,
  )
  expect(await curl(box, '--noproxy', '', `${at}/v1/messages`)).toMatch(/may reach[^]* 403$/)
  expect(await curl(box, '--noproxy', '', '-p', `${at}/v1/messages`)).toMatch(/ 000$/)
  expect(await curl(box, `${at}/v1/messages`)).toBe(' 000')
  expect(await curl(box, '--path-as-is', `${brokerUrl('model')}/../other`)).toMatch(/lead out[^]* 400$/)

  const outside = ['cmdline', 'environ', 'maps'].flatMap((file) =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => readOrNothing(`/proc/${pid}/${file}`)),
  )
  expect(outside.filter((text) => text !== '').length).toBeGreaterThan(3)
  expect(outside.filter((text) => text.includes(secret))).toEqual([])
  const inside = await sh(box, 'cat /proc/*/environ /proc/*/cmdline /run/aw/*/* /proc/*/net/tcp; env; find / -xdev')
  expect(inside).toContain('http_proxy=')
  expect(inside).not.toMatch(new RegExp(`${secret}|proxy\\.json`))

  const holding = (): string[] => filesBelow(base).filter((file) => readFileSync(file, 'latin1').includes(secret))
  expect(readFileSync(networkLog, 'latin1')).toMatch(/"verdict":"allowed","reason":null/)
  expect(holding()).toEqual([])
  await box.stop()
  expect(holding()).toEqual([])
})

test('a program that asks the proxy for everything finds it too', async () => {
  await using site = await upstream(createHttp(service))
  const at = `127.0.0.1:${site.port}`
  const { driver, spec } = opened('namespace')
  const network: Network = { mode: 'allowlist', allow: [at] }
  await using box = await startPlanned(driver, 'box_1', {
    ...spec,
    network,
    brokers: [brokerTo(`http://${at}`)],
    once: true,
  })
  expect((await ran(box, ['printenv', 'no_proxy'])).stdout).not.toContain('127.0.0.1')
  expect(await curl(box, `${brokerUrl('model')}/x`)).toBe('with the key /x 200')
  expect(await curl(box, `http://${at}/x`)).toBe('without /x 200')
})

test('an upstream with TLS is trusted as whoever started the box trusts it, and streams', async () => {
  const identity = JSON.parse(String(process.env['AW_TEST_IDENTITY'])) as { key: string; cert: string }
  const parts = createHttps(identity, (request, response) => {
    response.write(`${request.headers['x-api-key'] === secret} one\n`)
    request.resume().on('end', () => response.end('two\n'))
  })
  await using site = await upstream(parts)
  const { driver, spec } = opened('namespace')
  const brokers = [brokerTo(`https://localhost:${site.port}`)]
  await using box = await startPlanned(driver, 'box_1', { ...spec, network: offline, brokers, once: true })
  const script = `import socket
s = socket.create_connection(('127.0.0.1', 3128))
s.sendall(b'POST /.aw/model/x HTTP/1.1\\r\\nHost: 127.0.0.1:3128\\r\\nContent-Length: 4\\r\\nConnection: close\\r\\n\\r\\nab')
text = s.recv(1000)
while b'one' not in text: text += s.recv(1000) or exit(text)
s.sendall(b'cd')
while b'two' not in text: text += s.recv(1000) or exit(text)
print(text.decode())`
  expect((await ran(box, ['python3', '-c', script])).stdout).toMatch(/true one\n[^]*two\n/)
})

const refused = async (level: 'none' | 'guarded' | 'namespace', more: Partial<SandboxSpec>): Promise<unknown> => {
  const { driver, spec } = opened(level)
  const asked = { ...spec, ...more }
  const error = toAwError(
    await driver.plan(asked).then(
      () => undefined,
      (thrown: unknown) => thrown,
    ),
  )
  expect(await driver.list()).toEqual([])
  expect(JSON.stringify([error.message, error.hint, error.data])).not.toContain(secret)
  return error
}
const brokers = [brokerTo('https://api.example.com')]

test.each([
  ['namespace', { mode: 'none' }],
  ['namespace', { mode: 'host' }],
  ['guarded', { mode: 'allowlist', allow: [] }],
  ['guarded', { mode: 'host' }],
  ['none', { mode: 'allowlist', allow: [] }],
  ['none', { mode: 'host' }],
] as const)('%s with the network %j holds no credential', async (level, network) => {
  expect(await refused(level, { network, brokers })).toEqual(code('sandbox_unenforceable'))
})

test('what is no broker is refused before anything starts', async () => {
  const wrong = [{ ...brokerTo(`https://user:${secret}@api.example.com`) }]
  expect(await refused('namespace', { network: offline, brokers: wrong })).toEqual(code('invalid_input'))
})

/** What is not ours, or has just ended, tells nothing. */
function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
