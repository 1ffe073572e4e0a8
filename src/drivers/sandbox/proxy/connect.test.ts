import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { parseAuthority } from '../../../domain/network/host.ts'
import { parseRules, type Target } from '../../../domain/network/rules.ts'
import { connectAllowed, connectBroker, type ConnectResult } from './connect.ts'
import { hostNetwork, type HostNetwork } from './host-network.ts'

function targetOf(text: string): Target {
  const authority = parseAuthority(text)
  if (authority === undefined) throw new Error(`${text} is no host`)
  return { host: authority.host, port: authority.port ?? 443 }
}

interface Pretended extends HostNetwork {
  readonly asked: string[]
  readonly connected: string[]
}

/** Where each lookup leads, one after the other. Only loopback is really connected to. */
function leadingTo(...answers: readonly (readonly string[])[]): Pretended {
  const asked: string[] = []
  const connected: string[] = []
  return {
    asked,
    connected,
    async lookup(name) {
      asked.push(name)
      return answers[asked.length - 1] ?? []
    },
    ownAddresses: () => ['198.41.0.4', '2606:4700::5'],
    async connect(address, port, timeoutMs) {
      connected.push(`${address} ${port}`)
      return address.startsWith('127.') ? hostNetwork.connect(address, port, timeoutMs) : undefined
    },
    connectLocal: (path, timeoutMs) => hostNetwork.connectLocal(path, timeoutMs),
  }
}

const tryIt = (network: HostNetwork, text = 'name.example'): Promise<ConnectResult> =>
  connectAllowed(targetOf(text), parseRules(['name.example', '*.below.example']), network, 50)

describe('where a name leads', () => {
  test.each([
    ['127.0.0.1'],
    ['127.8.9.1'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['10.1.2.3'],
    ['172.20.0.1'],
    ['192.168.0.1'],
    ['100.64.1.1'],
    ['169.254.169.254'],
    ['::ffff:a9fe:a9fe'],
    ['168.63.129.16'],
    ['100.100.100.200'],
    ['fd00:ec2::254'],
    ['fe80::1'],
    ['fc00::1'],
    ['0.0.0.0'],
    ['::'],
    ['224.0.0.1'],
    ['255.255.255.255'],
    ['192.0.2.1'],
    ['64:ff9b::7f00:1'],
    ['2002:7f00:1::'],
    ['::7f00:1'],
  ])('%s is refused', async (address) => {
    const network = leadingTo([address])
    expect(await tryIt(network)).toEqual({ kind: 'refused', reason: 'address_not_public' })
    expect(await tryIt(leadingTo([address]), 'a.below.example')).toMatchObject({ kind: 'refused' })
    expect([network.asked, network.connected]).toEqual([['name.example'], []])
  })

  test.each([['198.41.0.4'], ['2606:4700::5'], ['::ffff:198.41.0.4']])(
    '%s, an address of this machine, is refused',
    async (own) => {
      expect(await tryIt(leadingTo([own]))).toEqual({ kind: 'refused', reason: 'own_address' })
    },
  )

  test('nowhere, to nonsense, or to nobody in time', async () => {
    expect(await tryIt(leadingTo([]))).toEqual({ kind: 'failed', reason: 'name_not_found' })
    expect(await tryIt(leadingTo(['0x7f.1', 'localhost', 'fe80::1%lo']))).toEqual({
      kind: 'failed',
      reason: 'name_not_found',
    })
    const failing: HostNetwork = { ...leadingTo(), lookup: () => Promise.reject(new Error('ENOTFOUND')) }
    expect(await tryIt(failing)).toEqual({ kind: 'failed', reason: 'name_not_found' })
    const silent: HostNetwork = { ...leadingTo(), lookup: () => new Promise(() => undefined) }
    expect(await tryIt(silent)).toEqual({ kind: 'failed', reason: 'name_not_found' })
  })

  test('what is not allowed is not even looked up', async () => {
    const network = leadingTo(['1.1.1.1'])
    expect(await tryIt(network, 'secret-in-a-name.evil.example')).toEqual({
      kind: 'refused',
      reason: 'not_listed',
    })
    expect(network.asked).toEqual([])
  })
})

describe('what is connected to', () => {
  test('is what was looked at: a name that leads elsewhere the second time is not asked twice', async () => {
    const rebinding = leadingTo(['1.2.3.4'], ['127.0.0.1'])
    expect(await tryIt(rebinding)).toEqual({ kind: 'failed', reason: 'connect_timeout' })
    expect([rebinding.asked, rebinding.connected]).toEqual([['name.example'], ['1.2.3.4 443']])
    expect(await tryIt(rebinding)).toEqual({ kind: 'refused', reason: 'address_not_public' })
    expect(rebinding.connected).toEqual(['1.2.3.4 443'])
  })

  test('a private address among public ones is left out, and four are tried at most', async () => {
    const mixed = leadingTo([
      '127.0.0.1',
      '::1',
      '1.0.0.1',
      '10.0.0.1',
      '1.0.0.2',
      '198.41.0.4',
      '1.0.0.3',
      '1.0.0.4',
      '1.0.0.5',
    ])
    expect((await tryIt(mixed)).kind).toBe('failed')
    expect(mixed.connected).toEqual(['1.0.0.1 443', '1.0.0.2 443', '1.0.0.3 443', '1.0.0.4 443'])
  })

  test.each([['127.0.0.1'], ['localhost']])(
    '%s with its port, when the owner wrote it, is not looked up',
    async (name) => {
      const server = createServer((socket) => socket.on('error', () => undefined).destroy())
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const network = leadingTo(['1.1.1.1'])
      const reached = await connectAllowed(targetOf(`${name}:${port}`), parseRules([`${name}:${port}`]), network, 5000)
      expect(reached).toMatchObject({ kind: 'connected', address: '127.0.0.1' })
      if (reached.kind === 'connected') reached.socket.destroy()
      expect(network.asked).toEqual([])
      await new Promise((resolve) => server.close(resolve))
    },
  )
})

describe('the upstream of a broker', () => {
  const tryUpstream = (network: HostNetwork) => connectBroker(targetOf('name.example'), network, 50)

  test.each([['10.1.2.3'], ['192.168.0.1'], ['100.64.1.1'], ['1.2.3.4'], ['198.41.0.4'], ['fc00::1']])(
    'may be at %s, and is looked up once',
    async (address) => {
      const rebinding = leadingTo([address], ['1.1.1.1'])
      expect(await tryUpstream(rebinding)).toEqual({ kind: 'failed', reason: 'connect_timeout' })
      expect([rebinding.asked, rebinding.connected]).toEqual([['name.example'], [`${address} 443`]])
    },
  )

  test.each([['169.254.169.254'], ['::ffff:a9fe:a9fe'], ['fd00:ec2::254'], ['fe80::1'], ['0.0.0.0'], ['224.0.0.1']])(
    'is never at %s',
    async (address) => {
      const network = leadingTo([address])
      expect(await tryUpstream(network)).toEqual({ kind: 'refused', reason: 'address_not_public' })
      expect(network.connected).toEqual([])
    },
  )

  test('may be nowhere', async () => {
    expect(await tryUpstream(leadingTo([]))).toEqual({ kind: 'failed', reason: 'name_not_found' })
  })
})

test('the machine knows its own addresses and looks names up', async () => {
  expect(hostNetwork.ownAddresses()).toContain('127.0.0.1')
  expect(await hostNetwork.lookup('localhost')).toEqual(
    expect.arrayContaining([expect.stringMatching(/^(127\.0\.0\.1|::1)$/)]),
  )
})
