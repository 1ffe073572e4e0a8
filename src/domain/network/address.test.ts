import fc from 'fast-check'
import { isIPv4, isIPv6 } from 'node:net'
import { describe, expect, test } from 'vitest'
import { parseAddress } from './address.ts'
import { classifyAddress } from './address-class.ts'

const classOfText = (text: string): string => {
  const address = parseAddress(text)
  return address === undefined ? 'none' : classifyAddress(address)
}

describe('an address has one spelling', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8::0001', '2001:db8::1'],
    ['1:0:2:0:3:0:4:0', '1:0:2:0:3:0:4:0'],
    ['fe80::', 'fe80::'],
    ['::ffff:169.254.169.254', '169.254.169.254'],
    ['::ffff:a9fe:a9fe', '169.254.169.254'],
    ['0:0:0:0:0:FFFF:7f00:1', '127.0.0.1'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
  ])('%s is %s', (text, canonical) => {
    expect(parseAddress(text)?.text).toBe(canonical)
  })

  test.each([
    '',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '0177.1',
    '127.0.0.01',
    '127.0.0.1.',
    '127.0.0.256',
    '127.0.0.1 ',
    '１２７.0.0.1',
    '127。0。0。1',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '12345::',
    '::g',
    'fe80::1%eth0',
    '::127.0.0.1:1',
    '127.0.0.1::',
    '::ffff:127.1',
    '::ffff:0x7f.0.0.1',
    '[::1]',
  ])('%j is none', (text) => {
    expect(parseAddress(text)).toBeUndefined()
  })

  test('of whatever text, only what Node takes for an address too, and once spelled it stays so', () => {
    const pieces = fc.array(fc.constantFrom('0', '1', 'ff', '255', '256', '::', ':', '.', 'ffff', '%', 'x'), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(
        fc.oneof(
          pieces.map((all) => all.join('')),
          fc.ipV4(),
          fc.ipV6(),
          fc.string(),
        ),
        (text) => {
          const address = parseAddress(text)
          const known = isIPv4(text) || (isIPv6(text) && !text.includes('%'))
          expect(address !== undefined).toBe(known)
          if (address === undefined) return
          expect(parseAddress(address.text)).toEqual(address)
          expect(address.bytes).toHaveLength(address.family === 4 ? 4 : 16)
        },
      ),
      { numRuns: 2000 },
    )
  })
})

describe('what it leads to', () => {
  test.each([
    [
      'public',
      [
        '1.1.1.1',
        '8.8.8.8',
        '172.15.255.255',
        '172.32.0.1',
        '192.167.1.1',
        '100.63.0.1',
        '100.128.0.1',
        '223.255.255.255',
      ],
    ],
    ['public', ['2606:4700::1111', '2a00:1450:4001::1', '2001:4860:4860::8888', '2001:200::1']],
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1']],
    [
      'private',
      ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1', 'fec0::1'],
    ],
    ['private', ['::ffff:10.0.0.1', '::ffff:c0a8:101']],
    ['shared', ['100.64.0.1', '100.127.255.255']],
    ['link_local', ['169.254.0.1', '169.254.170.2', 'fe80::1', 'febf::1']],
    ['metadata', ['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192']],
    ['metadata', ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', '::ffff:169.254.169.254']],
    ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
    ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
    [
      'translated',
      [
        '64:ff9b::1.1.1.1',
        '64:ff9b:1::1',
        '2002:7f00:1::',
        '2001:0:1::1',
        '::7f00:1',
        '::10.0.0.1',
        '::',
        '192.88.99.1',
      ],
    ],
    ['reserved', ['0.0.0.0', '0.1.2.3', '192.0.0.1', '198.18.0.1', '198.19.255.255', '240.0.0.1', '255.255.255.255']],
    ['reserved', ['100::1', '2001:2::1', '2001:20::1', '4000::1', '5f00::1', 'f000::1', '1::1']],
  ])('%s: %j', (name, texts) => {
    expect(texts.map((text) => [text, classOfText(text)])).toEqual(texts.map((text) => [text, name]))
  })

  test('every address has a class, and none below 2000::/3 that is not global is public', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const address = parseAddress(text)
        if (address?.family !== 6 || classifyAddress(address) !== 'public') return
        expect((address.bytes[0] ?? 0) >> 5).toBe(1)
      }),
    )
  })
})
