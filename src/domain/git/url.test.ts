import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkRefName, isRefName, parseGitRef } from './ref.ts'
import { parseGitUrl } from './url.ts'
import { redactCredentials, secretsOf, summarizeStderr } from './error-text.ts'

describe('a url', () => {
  test.each([
    ['https://example.com/a/b.git', 'https', 'https://example.com/a/b.git'],
    ['https://Example.com:443/a/b/', 'https', 'https://example.com/a/b'],
    ['https://example.com:8443/a', 'https', 'https://example.com:8443/a'],
    ['https://[::1]:8443/a', 'https', 'https://[::1]:8443/a'],
    ['HTTPS://example.com/a', 'https', 'https://example.com/a'],
    ['https://me@example.com/a', 'https', 'https://example.com/a'],
    ['https://me:s%40cret@example.com/a', 'https', 'https://example.com/a'],
    ['ssh://git@example.com/a/b', 'ssh', 'ssh://git@example.com/a/b'],
    ['ssh://git:secret@example.com:22/a', 'ssh', 'ssh://git@example.com/a'],
    ['ssh://example.com:2222/~me/a', 'ssh', 'ssh://example.com:2222/~me/a'],
    ['git@github.com:a/b.git', 'ssh', 'git@github.com:a/b.git'],
    ['git@[::1]:a/b.git', 'ssh', 'git@[::1]:a/b.git'],
    ['/srv/a repository/x/', 'path', '/srv/a repository/x'],
  ])('%s', (text, kind, clean) => {
    expect(parseGitUrl(text)).toMatchObject({ kind, clean })
    expect(parseGitUrl(clean)).toMatchObject({ kind, clean })
  })

  test('a path that is written as a url is asked for as a path', () => {
    expect(() => parseGitUrl('file:///srv/x')).toThrow('by its path, without file://')
  })

  test.each([
    '',
    '-u./payload',
    '--upload-pack=x',
    'ext::sh -c x',
    'ext::x',
    'fd::17/foo',
    'file:///srv/x',
    'file:/srv/x',
    'git://example.com/x',
    'http://example.com/x',
    'http://localhost/x',
    'ftp://example.com/x',
    'git+ssh://example.com/x',
    'https:/example.com/x',
    'https://example.com',
    'https://example.com/',
    'https://-oProxyCommand=x/a',
    'ssh://-oProxyCommand=x/a',
    'ssh://-x@example.com/a',
    'ssh://a b@example.com/a',
    '-oProxyCommand=x@example.com:a',
    'git@-oProxyCommand=x:a',
    'git@example.com:-x',
    'git@example.com:',
    'example.com:a/b',
    'https://example.com:x/a',
    'https://example.com:0/a',
    'https://example.com:65536/a',
    'ssh://example.com:22a/a',
    'https://example.com/a b',
    'https://example.com/a\nb',
    'https://example.com/a\0',
    'https://example.com/a%00',
    'https://example.com/a%0a',
    'https://me%0ahost=evil:x@example.com/a',
    'https://example.com/a%zz',
    'https://example.com/a?token=x',
    'https://example.com/a#x',
    'https://example.com\\@evil/a',
    'https://a@b@example.com/a',
    'https://[::1/a',
    'https://exa_mple..com/a',
    './relative',
    '../x',
    'x',
    '/a\nb',
    '\ud800',
  ])('%j is refused, without being repeated', (text) => {
    expect(() => parseGitUrl(text)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
    expect(() => parseGitUrl(text)).not.toThrow(/token=|evil/)
  })

  test.each([undefined, null, 7, ['x'], { url: 'x' }, Buffer.from('https://example.com/x')])(
    '%j is no text',
    (value) => {
      expect(() => parseGitUrl(value)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
    },
  )

  test('whatever it is, git never takes it for an option or another transport', () => {
    const start = fc.constantFrom('', '-', 'ext::', 'https://', 'ssh://', 'git@', '/', 'file:', 'https://a:b@')
    fc.assert(
      fc.property(start, fc.string(), (before, rest) => {
        try {
          const { clean } = parseGitUrl(before + rest)
          expect(clean).toMatch(/^(?:https:\/\/[a-z0-9_[]|ssh:\/\/\w|\w[^@:/]*@[\w[]|\/)/)
          expect(clean).not.toMatch(/\p{Cc}/u)
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_input' })
        }
      }),
    )
  })

  test('its credentials are decoded, and go to their site alone', () => {
    expect(parseGitUrl('https://me:a%3Ab%20c@example.com:8443/x')).toMatchObject({
      credentials: { site: 'https://example.com:8443', user: 'me', password: 'a:b c' },
    })
    expect(parseGitUrl('https://token@example.com/x')).toMatchObject({ credentials: { user: 'token', password: null } })
  })
})

describe('a ref', () => {
  test.each(['main', 'feature/x', 'v1.2.3', 'ü', 'a@b', '@x', "it's", 'refs/heads/x', 'refs/tags/x'])('%s', (ref) => {
    expect(parseGitRef(ref)).toMatchObject({ kind: 'name', name: ref })
  })

  test('null, HEAD and a commit', () => {
    expect(parseGitRef(null)).toEqual({ kind: 'default' })
    expect(parseGitRef('HEAD')).toEqual({ kind: 'default' })
    expect(parseGitRef('A'.repeat(40))).toEqual({ kind: 'commit', commit: 'a'.repeat(40) })
    expect(parseGitRef('0'.repeat(64))).toMatchObject({ kind: 'commit' })
  })

  test.each([
    '',
    '-x',
    '--upload-pack=x',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    'a@{1}',
    '.a',
    'a/.b',
    'a.lock',
    'a.lock/b',
    'a/',
    '/a',
    'a//b',
    'a.',
    'a\n',
    'a\0',
    'refs/pull/1/head',
    'refs/heads/',
    'x'.repeat(300),
    `${'x/'.repeat(600)}x`,
    '\ud800',
  ])('%j is refused', (ref) => {
    expect(() => parseGitRef(ref)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })

  test('a plus sign is part of a name, and never the first thing that git reads of one', () => {
    expect(parseGitRef('+main')).toMatchObject({ candidates: ['refs/heads/+main', 'refs/tags/+main'] })
    expect(isRefName('refs/heads/+main')).toBe(true)
    expect(() => checkRefName('refs/heads/a..b')).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })
})

describe('what git says', () => {
  test.each([
    ["fatal: unable to access 'https://me:s3cret@example.com/x/'", "fatal: unable to access 'https://example.com/x/'"],
    ['https://ghp_abcdefghijklmnop@example.com/x', 'https://example.com/x'],
    ['ssh://git:s3cret@example.com/x', 'ssh://git@example.com/x'],
    ['> Authorization: Basic bWU6czNjcmV0', '> Authorization: ***'],
    ['Proxy-Authorization: Bearer s3cret', 'Proxy-Authorization: ***'],
    ['sent bearer abcdef123456', 'sent bearer ***'],
    ['?access_token=s3cret&x=1', '?access_token=***&x=1'],
    ['bad token github_pat_11ABCDEFG0123456789', 'bad token ***'],
    ['remote: glpat-abcdefghij1234 expired', 'remote: *** expired'],
  ])('%s', (said, clean) => {
    expect(redactCredentials(said)).toBe(clean)
  })

  test('what was in the url is hidden in every form', () => {
    const url = parseGitUrl('https://me:p%40ss%20word@example.com/x')
    if (url.kind === 'path') throw new Error('not a path')
    const said = `p@ss word p%40ss%20word ${Buffer.from('me:p@ss word').toString('base64')}`
    expect(redactCredentials(said, secretsOf(url))).toBe('*** *** ***')
  })

  test.each([
    ['s3cr3t-token:x-oauth-basic', 's3cr3t-token'],
    ['x-access-token:s3cr3t-token', 's3cr3t-token'],
    ['s3cr3t-token:', 's3cr3t-token'],
    ['s3cr3t-token', 's3cr3t-token'],
    ['git:s3cr3t-token', 's3cr3t-token'],
    ['s%C3%BC%20s3cr3t:x', 'sü s3cr3t'],
  ])('of %s neither part is told, however it is spelled', (userinfo, secret) => {
    const url = parseGitUrl(`https://${userinfo}@example.com/x`)
    if (url.kind === 'path') throw new Error('not a path')
    const encoded = encodeURIComponent(secret)
    const all = [...Buffer.from(secret)].map((byte) => `%${byte.toString(16)}`).join('')
    const base64 = Buffer.from(decodeURIComponent(userinfo.includes(':') ? userinfo : `${userinfo}:`)).toString(
      'base64',
    )
    for (const form of [secret, secret.toUpperCase(), encoded, encoded.toLowerCase(), all, base64]) {
      const told = redactCredentials(`said ${form}, twice: ${form}.`, secretsOf(url))
      expect(told).toMatch(/^said \*{3}=*, twice: \*{3}=*\.$/)
    }
  })

  test('a short name alone is no secret', () => {
    const url = parseGitUrl('https://git@example.com/x')
    if (url.kind === 'path') throw new Error('not a path')
    expect(redactCredentials('git says: no', secretsOf(url))).toBe('git says: no')
  })

  test('is short, without progress, colours or advice', () => {
    const said = [
      "Cloning into bare repository 'x'...",
      'remote: Counting objects:  50% (1/2)\rremote: Counting objects: 100% (2/2)',
      'hint: try something',
      'remote: \u001b[31mNo entry\u001b[0m',
      "fatal: repository 'https://example.com/x/' not found",
      `fatal: ${'x'.repeat(1000)}`,
    ].join('\n')
    const words = summarizeStderr(said)
    expect(words).toMatch(/^remote: {2}No entry; fatal: repository 'https:\/\/example.com\/x\/' not found; fatal: x+…$/)
    expect(words.length).toBeLessThan(410)
  })
})
