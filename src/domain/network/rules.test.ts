import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hostText, parseAuthority } from './host.ts'
import { presetHosts, presetNames } from './presets.ts'
import { judge, parseRules } from './rules.ts'

/** Whether the list lets it pass, or why not; `no host` for what is none. */
function verdict(rules: readonly string[], authority: string): string {
  const target = parseAuthority(authority)
  if (target === undefined) return 'no host'
  const judged = judge(parseRules(rules), { host: target.host, port: target.port ?? 443 })
  return judged.allowed ? 'allowed' : judged.reason
}

describe('a host', () => {
  test.each([
    ['example.com', 'example.com', undefined],
    ['EXAMPLE.com.:8443', 'example.com', 8443],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', undefined],
    ['r3---sn-x.example.com:1', 'r3---sn-x.example.com', 1],
    ['1.2.3.4.example.com', '1.2.3.4.example.com', undefined],
    ['localhost:65535', 'localhost', 65_535],
    ['10.0.0.1:80', '10.0.0.1', 80],
    ['[2001:DB8::1]:80', '2001:db8::1', 80],
    ['[::ffff:10.0.0.1]', '10.0.0.1', undefined],
    [`${'a.'.repeat(126)}a`, `${'a.'.repeat(126)}a`, undefined],
  ])('%s', (text, host, port) => {
    const authority = parseAuthority(text)
    expect([authority?.host.text, authority?.port]).toEqual([host, port])
  })

  test.each([
    '',
    '.',
    '..',
    'com',
    'intranet',
    'example..com',
    '.example.com',
    'example.com..',
    '-a.example.com',
    'a-.example.com',
    'exa_mple.com',
    'evil\0.ok.com',
    'ok.com\0',
    'ok.com\n',
    'ok.com\r\nHost: x',
    ' ok.com',
    'ok.com ',
    'ok.com@evil.com',
    'user:pass@ok.com',
    'ok.com%00',
    'ok%2ecom',
    'ok.com/',
    'ok.com#',
    'ok.com?',
    'ok.com\\evil.com',
    'ok.com:',
    'ok.com:0',
    'ok.com:080',
    'ok.com:65536',
    'ok.com:+80',
    'ok.com:80:80',
    'ok.com:443@evil.com',
    'bücher.example',
    'оk.com',
    'ok。com',
    'ok．com',
    '127.1',
    '0x7f.1',
    '0x7f000001',
    '0x7f.0.0.1',
    '2130706433',
    '0177.1',
    '0177.0.0.1',
    '127.0.0.1.',
    '127.0.0.256',
    '1.2.3',
    'a.1',
    'a.0x1',
    '[::1',
    '::1',
    '[::1]]',
    '[[::1]]',
    '[127.0.0.1]',
    '[ok.com]',
    '[fe80::1%25eth0]',
    '[fe80::1%eth0]',
    '[::1]80',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(127)}com`,
  ])('%j is none', (text) => {
    expect(parseAuthority(text)).toBeUndefined()
  })

  test('a very long text is none', () => {
    expect(parseAuthority('a'.repeat(10_000))).toBeUndefined()
  })

  test('whatever the text, a host is one that is spelled the same again, and holds nothing odd', () => {
    const text = fc.oneof(
      fc.string(),
      fc.domain(),
      fc.webAuthority(),
      fc.ipV4Extended(),
      fc.ipV6().map((ip) => `[${ip}]`),
    )
    fc.assert(
      fc.property(text, (written) => {
        const authority = parseAuthority(written)
        if (authority === undefined) return
        expect(authority.host.text).toMatch(/^[a-z0-9.:-]+$/)
        expect(parseAuthority(hostText(authority.host))?.host).toEqual(authority.host)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a rule', () => {
  test.each([
    [[], 'ok.com', 'not_listed'],
    [['ok.com'], 'ok.com', 'allowed'],
    [['ok.com'], 'OK.COM.', 'allowed'],
    [['OK.com.'], 'ok.com', 'allowed'],
    [['ok.com'], 'ok.com:80', 'allowed'],
    [['ok.com'], 'ok.com:8443', 'port_not_listed'],
    [['ok.com'], 'ok.com:22', 'port_not_listed'],
    [['ok.com:8443'], 'ok.com:8443', 'allowed'],
    [['ok.com:8443'], 'ok.com:443', 'port_not_listed'],
    [['ok.com'], 'www.ok.com', 'not_listed'],
    [['ok.com'], 'notok.com', 'not_listed'],
    [['ok.com'], 'ok.com.evil', 'not_listed'],
    [['ok.com'], 'ok.com.evil.net', 'not_listed'],
    [['ok.com'], 'evil.net', 'not_listed'],
    [['*.ok.com'], 'a.ok.com', 'allowed'],
    [['*.ok.com'], 'a.b.ok.com', 'allowed'],
    [['*.ok.com'], 'ok.com', 'not_listed'],
    [['*.ok.com'], 'notok.com', 'not_listed'],
    [['*.ok.com'], 'a.notok.com', 'not_listed'],
    [['*.ok.com'], 'a.ok.com.evil', 'not_listed'],
    [['*.ok.com:8443'], 'a.ok.com:8443', 'allowed'],
    [['*.ok.com:8443'], 'a.ok.com', 'port_not_listed'],
    [['*.ok.com'], '169.254.169.254:80', 'not_listed'],
    [['127.0.0.1:8080'], '127.0.0.1:8080', 'allowed'],
    [['127.0.0.1:8080'], '[::ffff:127.0.0.1]:8080', 'allowed'],
    [['127.0.0.1:8080'], '127.0.0.1:8081', 'port_not_listed'],
    [['127.0.0.1:8080'], '127.0.0.2:8080', 'not_listed'],
    [['127.0.0.1:8080'], 'localhost:8080', 'not_listed'],
    [['localhost:8080'], 'localhost:8080', 'allowed'],
    [['localhost:8080'], '127.0.0.1:8080', 'not_listed'],
    [['localhost:8080'], 'a.localhost:8080', 'not_listed'],
    [['[::1]:8080'], '[0:0:0:0:0:0:0:1]:8080', 'allowed'],
    [['10.0.0.7:5432'], '10.0.0.7:5432', 'allowed'],
    [['ok.com'], '[::ffff:169.254.169.254]:80', 'not_listed'],
    [['xn--bcher-kva.example'], 'XN--bcher-kva.example', 'allowed'],
    [['npm'], 'registry.npmjs.org', 'allowed'],
    [['npm'], 'npmjs.org', 'not_listed'],
  ])('%j: %s is %s', (rules, authority, expected) => {
    expect(verdict(rules, authority)).toBe(expected)
  })

  test.each([
    'https://ok.com',
    'ok.com/path',
    'bücher.example',
    'nmp',
    'com',
    '*',
    '*.',
    '*.com',
    '*.io',
    '*.com.',
    '*.co.uk',
    '*.com.au',
    '*.localhost',
    '*.10.0.0.1',
    '*.[::1]',
    '*ok.com',
    'a.*.ok.com',
    '*.*.ok.com',
    '*.github.io',
    '*.a.github.io',
    '*.amazonaws.com',
    '*.s3.us-east-1.amazonaws.com',
    '*.blob.core.windows.net',
    '*.googleapis.com',
    '*.aws',
    '*.nip.io',
    '*.trycloudflare.com',
    '127.0.0.1',
    'localhost',
    '[::1]',
    '10.0.0.1',
    '93.184.216.34',
    '0.0.0.0:80',
    '169.254.169.254:80',
    '[::ffff:169.254.169.254]:80',
    '[fd00:ec2::254]:80',
    '169.254.1.1:80',
    '224.0.0.1:80',
    '[fe80::1]:80',
    '[64:ff9b::7f00:1]:80',
    '0x7f.1:80',
    '2130706433:80',
    'ok.com\0',
    'ok.com@evil.com',
    '',
  ])('%j cannot be one', (text) => {
    expect(() => parseRules([text])).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })

  test('a very long text cannot be one', () => {
    expect(() => parseRules(['x'.repeat(100_000)])).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })

  test('what is written wrong is explained', () => {
    const hintOf = (text: string): unknown => {
      try {
        return parseRules([text])
      } catch (error) {
        return (error as { hint: string }).hint
      }
    }
    expect(hintOf('nmp')).toContain('Did you mean the preset npm?')
    expect(hintOf('https://ok.com')).toContain('only its host')
    expect(hintOf('bücher.example')).toContain('xn--')
    expect(hintOf('127.0.0.1')).toContain('127.0.0.1:PORT')
    expect(hintOf('*.github.io')).toContain('Write out each host')
  })

  test('a name is let through only if its labels end with those of a rule', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,3}$/)
    const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'))
    fc.assert(
      fc.property(name, name, fc.boolean(), (host, prefix, star) => {
        const base = `${host}.owner.example`
        const inside = `${prefix}.${base}`
        const rules = [star ? `*.${base}` : base]
        expect(verdict(rules, base)).toBe(star ? 'not_listed' : 'allowed')
        expect(verdict(rules, inside)).toBe(star ? 'allowed' : 'not_listed')
        for (const other of [`${prefix}${base}`, `${base}.${prefix}`, `${prefix}.${base}.evil`, `${prefix}-${base}`]) {
          expect(verdict(rules, other)).toBe('not_listed')
        }
      }),
    )
  })
})

describe('presets', () => {
  test.each(presetNames)('%s is made of hosts written out', (name) => {
    const hosts = presetHosts(name) ?? []
    expect(hosts.length).toBeGreaterThan(0)
    for (const host of hosts) expect(parseRules([host])).toMatchObject([{ host, below: false, ports: [443, 80] }])
    expect(parseRules([name])).toHaveLength(hosts.length)
  })

  test('no preset has a name that could be a host, and no odd name is one', () => {
    expect(presetNames.filter((name) => parseAuthority(name) !== undefined)).toEqual([])
    for (const name of ['constructor', '__proto__', 'toString', 'NPM']) expect(presetHosts(name)).toBeUndefined()
  })
})
