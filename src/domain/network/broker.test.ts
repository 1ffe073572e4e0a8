import { describe, expect, test } from 'vitest'
import { type AwError } from '../errors.ts'
import { staysBelow } from './broker-path.ts'
import { brokerUrl, parseBrokers, type Broker } from './broker.ts'

const broker = (more: Partial<Broker> = {}): Broker => ({
  name: 'model',
  upstream: 'https://api.example.com',
  headers: { 'X-Api-Key': 'sk-secret-1' },
  ...more,
})
const parsed = (more: Partial<Broker>) => parseBrokers([broker(more)])[0]

/** What is wrong, as it is told: it is checked that nothing of the secret is in it. */
function problemOf(...brokers: readonly Broker[]): AwError {
  try {
    parseBrokers(brokers)
  } catch (error) {
    const told = error as AwError
    expect(told.code).toBe('invalid_input')
    expect(JSON.stringify([told.message, told.hint, told.data])).not.toContain('secret')
    return told
  }
  throw new Error('It is a broker')
}

test('a broker has an address inside', () => {
  expect(brokerUrl('model')).toBe('http://127.0.0.1:3128/.aw/model')
})

test.each([
  ['https://api.example.com', true, 'api.example.com', 443, ''],
  ['https://api.example.com/', true, 'api.example.com', 443, ''],
  ['https://API.example.com:8443/v1/', true, 'api.example.com', 8443, '/v1'],
  ['http://127.0.0.1:8080/a/b', false, '127.0.0.1', 8080, '/a/b'],
  ['http://localhost', false, 'localhost', 80, ''],
  ['http://[::1]:1', false, '::1', 1, ''],
  ['http://gateway:4000', false, 'gateway', 4000, ''],
  ['http://10.0.0.7', false, '10.0.0.7', 80, ''],
])('%s is an upstream', (upstream, secure, host, port, base) => {
  expect(parsed({ upstream })).toMatchObject({ secure, target: { host: { text: host }, port }, base })
})

test.each([
  'ftp://api.example.com',
  'api.example.com',
  'https://',
  'https://user:secret@api.example.com',
  'https://api.example.com?key=secret',
  'https://api.example.com/#secret',
  'https://api.example.com/a/../b',
  'https://api.example.com/./b',
  'https://api.example.com//b',
  'https://api.example.com/%2e%2e/b',
  'https://api.example.com/a b',
  'https://api.example.com\\@evil.example',
  'https://0x7f.1',
  'http://2130706433',
  'http://0x7f000001',
  'http://1e3',
  'https://api.example.com:0',
  'http://169.254.169.254',
  'http://[::ffff:169.254.169.254]',
  'http://[fe80::1]',
  'http://0.0.0.0:80',
  'https://api.example.com\n',
])('%j is none', (upstream) => {
  expect(problemOf(broker({ upstream })).data).toEqual({ broker: 'model', field: 'upstream' })
})

test.each(['', 'A', 'a/b', '..', 'a.b', 'a_b', 'x'.repeat(33), 'a\n'])('%j is no name', (name) => {
  expect(problemOf(broker({ name })).message).toMatch(/^The name of a broker/)
})

test('a name is there once', () => {
  expect(problemOf(broker(), broker()).message).toContain('two brokers called model')
  expect(parseBrokers([broker(), broker({ name: 'other' })])).toHaveLength(2)
})

test.each([
  ['no name', { '': 'x' }],
  ['a space in a name', { 'x y': 'x' }],
  ['a line in a name', { 'x\r\nsecret': 'x' }],
  ['a name of the framing', { 'Content-Length': '4' }],
  ['a name of this hop', { Connection: 'close' }],
  ['the host', { HOST: 'evil.example' }],
  ['a name twice', { 'x-a': 'secret', 'X-A': 'secret' }],
  ['a line in a value', { 'x-a': 'secret\r\nX-B: 1' }],
  ['a NUL in a value', { 'x-a': 'secret\0' }],
  ['a tab in a value', { 'x-a': 'secret\tsecret' }],
  ['what is not ASCII', { 'x-a': 'secret\u00e9' }],
  ['a space at the end', { 'x-a': 'secret ' }],
  ['an empty value', { 'x-a': '' }],
  ['too long a value', { 'x-a': 'x'.repeat(8193) }],
  ['no text', { 'x-a': 1 as unknown as string }],
  ['too many', Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`x-${at}`, 'secret']))],
])('headers with %s are none', (_name, headers) => {
  expect(problemOf(broker({ headers })).data).toEqual({ broker: 'model', field: 'headers' })
})

test('a broker may add nothing', () => {
  expect(parsed({ headers: {} })).toMatchObject({ headers: [] })
})

describe('a path below', () => {
  test.each([
    '',
    '/',
    '/v1/messages',
    '/v1/models/a%2Fb',
    '/a//b',
    '/a/../b',
    '/a/./b',
    '/a/...',
    '/a;x=1/b',
    '/..a',
    '/caf%C3%A9',
    '/100%',
    '/a%20b',
  ])('%j stays', (path) => {
    expect(staysBelow(path)).toBe(true)
  })

  test.each([
    '/..',
    '/../other',
    '/a/../../other',
    '/%2e%2e/other',
    '/.%2E/other',
    '/%252e%252e/other',
    '/%25252e%25252e/other',
    '/%25252525252e',
    '/a%2f..%2f..%2fother',
    '/a%2fb/../../other',
    '/a//../../other',
    '/a\\..\\..\\other',
    '/a%5c..%5c..%5cother',
    '/a%5cb/../../other',
    '/..;/other',
    '/..;x=1/other',
    '/a/..%3b/../other',
    '//evil.example/x',
    '/%2fevil.example/x',
    '/\\evil.example',
    '/a%00/../..',
    '/.%00./other',
    '/.%09./other',
    '/a%0d%0ab',
    '/%c0%ae%c0%ae/other',
  ])('%j may lead out', (path) => {
    expect(staysBelow(path)).toBe(false)
  })
})
